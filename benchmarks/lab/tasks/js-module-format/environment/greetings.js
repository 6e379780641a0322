const greetings = { en: "Hello", fr: "Bonjour", de: "Hallo" };

exports.greetings = greetings;
