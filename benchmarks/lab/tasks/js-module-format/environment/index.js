const { greetings } = require("./greetings");
const config = require("./config.json");
const path = require("path");

function greet(name, language = config.language) {
  return `${greetings[language] || greetings.en}, ${name}!`;
}

if (require.main === module) {
  console.log(`${path.basename(__filename)}: ${greet(config.name)}`);
}

module.exports = { greet };
