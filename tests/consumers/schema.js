// SPDX-License-Identifier: MIT
// schema.js SCHEMA FILE...: ajv holds each FILE against the JSON schema SCHEMA; prints what is wrong, as JSON.
"use strict";
const fs = require("fs");
const Ajv = require("ajv").default || require("ajv");

const [schema, ...files] = process.argv.slice(2).map((name) => JSON.parse(fs.readFileSync(name, "utf8")));
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
console.log(JSON.stringify(files.map((file) => (validate(file) ? [] : validate.errors))));
