// node node.js SCRIPT …: what `answer`, which the last of a page's scripts
// defines, gives for the arguments on standard input
const { readFileSync } = require("fs");
const { runInThisContext } = require("vm");
const text = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const answer = runInThisContext(`${text.join("\n;")}\n;answer`);
console.log(JSON.stringify(answer(...JSON.parse(readFileSync(0)))));
