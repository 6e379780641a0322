export const greetings = { en: "Hello", fr: "Bonjour", de: "Hallo" };
