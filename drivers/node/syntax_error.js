// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * Find the place of a syntax error in an imported module. node reports the place for required files. For
 * modules, it does so only when it exits itself. So this file follows the imports, beginning with the module
 * that the program has imported. The first module that fails to compile with the same message has the error.
 */
const genuine = require('./genuine.js');
const { IMPORT, toScript } = require('./program.js');
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const { fileURLToPath } = require('url');

const { indexOf, push, slice, startsWith } = genuine;
const MODULES_MAX = 200;
const BEFORE = "'use strict'; async () => {\n";

/*
 * Return the file to which @name refers in a module of the directory @dir. Return '' for packages and node's
 * own modules.
 */
function fileOf(name, dir) {
  if (startsWith(name, 'file:')) return fileURLToPath(name);
  return genuine.exec(/^\.{0,2}\//, name) === null ? '' : path.resolve(dir, name);
}

function addImports(script, dir, files) {
  const call = new RegExp(IMPORT + '\\(\\s*(["\'])([^"\'\\n]+)\\1', 'g');
  for (let found = genuine.exec(call, script); found !== null; found = genuine.exec(call, script)) {
    const file = fileOf(found[2], dir);
    let i = 0;
    while (i < files.length && files[i] !== file) i++;
    if (file !== '' && i === files.length && i < MODULES_MAX) push(files, file);
  }
}

/*
 * Return the lines that node shows for a required file: "/home/user/m.mjs:2", the source line, and a caret.
 * Return '' if the file compiles.
 */
function placeIn(file, script, message) {
  try {
    new vm.Script(BEFORE + script + '\n}', { filename: file, lineOffset: -1 });
  } catch (error) {
    // toScript() leaves an import as it is if it cannot rewrite it. V8 then reports this other message.
    const isIt = error.message === message || startsWith(error.message, 'Cannot use import statement');
    const end = indexOf(error.stack, '\n\nSyntaxError: ');
    return isIt && end > 0 ? slice(error.stack, 0, end + 2) : '';
  }
  return '';
}

/*
 * Put the place in front of the stack of @error, as node does for a required file. The error was thrown when
 * @name was imported.
 */
function locate(error, name, dir) {
  if (!genuine.types.isNativeError(error) || !startsWith(error.stack, 'SyntaxError: ' + error.message + '\n'))
    return;
  const files = [fileOf(name, dir)];
  for (let i = 0; i < files.length; i++) {
    const script = toScript(fs.readFileSync(files[i], 'utf8'));
    const place = placeIn(files[i], script, error.message);
    if (place !== '') {
      error.stack = place + error.stack;
      return;
    }
    addImports(script, path.dirname(files[i]), files);
  }
}

module.exports = { __proto__: null, locate };
