// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * A program that is a file runs as node runs it: .mjs as a module, else as CommonJS, whose top-level names are
 * its own, or as a module where package.json or the source says so. What node does not compile, such as an await
 * beside a require, is left to the driver's own way, which takes both; but for .mjs and .cjs, which say what they
 * are.
 */
const fs = require('fs');
const Module = require('module');
const vm = require('vm');
const { pathToFileURL } = require('url');

module.exports = ({ endsWith, exec, startsWith, types, uncurry }, load) => {
const loadFile = uncurry(Module._load);

function urlOf(path) {
  return pathToFileURL(path).href;
}

function compiles(code) {
  try {
    return new vm.Script(code) !== null;
  } catch (error) {
    return false;
  }
}

/* Does @code wait at its top, where CommonJS cannot, and is no module either? */
function isWaiting(code) {
  const body = '() => {' + (startsWith(code, '#!') ? '//' : '') + code + '\n}';
  return !compiles(body) && compiles('async ' + body);
}

/* Can node run @path, which holds @code? Files of TypeScript it can only in part. */
function isPlain(path, code) {
  if (exec(/\.[mc]?ts$/, path) !== null || !fs.existsSync(path)) return false;
  return exec(/\.[mc]js$/, path) !== null || !isWaiting(code);
}

/*
 * Start the program of @path. Returns: a promise of its end, or undefined when it has come to its end.
 * Throws: what it throws, or why it does not compile.
 */
function start(path) {
  if (endsWith(path, '.mjs')) return load(urlOf(path));
  try {
    loadFile(Module, path, null, true);
  } catch (error) {
    if (error === null || typeof error !== 'object' || exec(/^ERR_REQUIRE_(ESM|ASYNC_MODULE)$/, '' + error.code) === null)
      throw error;
    return load(urlOf(path));
  }
  return undefined;
}

/* Is @error of start() that node does not compile the file itself, whose ending leaves open what it is? */
function isOpen(path, error) {
  return exec(/\.[mc]js$/, path) === null && types.isNativeError(error) && error.name === 'SyntaxError' &&
    startsWith(error.stack, path + ':');
}

return { __proto__: null, isOpen, isPlain, start, urlOf };
};
