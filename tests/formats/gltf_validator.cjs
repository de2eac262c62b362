// The official validator's report as JSON: node gltf_validator.cjs NODE_MODULES FILE
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { basename, join } = require('node:path');

const [modules, file] = process.argv.slice(2);
const validator = createRequire(join(modules, '_.js'))('gltf-validator');
validator
  .validateBytes(new Uint8Array(readFileSync(file)), { uri: basename(file) })
  .then((report) => console.log(JSON.stringify(report.issues)));
