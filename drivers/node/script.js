// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * Run programs that are files, as node runs them. A .mjs file is a module. Other files are CommonJS with
 * top-level names of their own, or modules if package.json or the source says so.
 *
 * Some files cannot be compiled by node, for example those that contain both await and require. The driver
 * then runs the code itself, in a way that accepts both. It does not do so for .mjs and .cjs files, whose
 * suffix says what they are.
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

/* Return whether @code uses top-level await, which CommonJS lacks, and is not a module. */
function isWaiting(code) {
  const body = '() => {' + (startsWith(code, '#!') ? '//' : '') + code + '\n}';
  return !compiles(body) && compiles('async ' + body);
}

/* Return whether node can run the file @path, which contains @code. node supports TypeScript only in part. */
function isPlain(path, code) {
  if (exec(/\.[mc]?ts$/, path) !== null || !fs.existsSync(path)) return false;
  return exec(/\.[mc]js$/, path) !== null || !isWaiting(code);
}

/*
 * Start the program @path. Returns: a promise of its end, or undefined if it has already ended. Throws: what
 * the program throws, or a compile error.
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

/*
 * Return whether @error, thrown by start(), means that node cannot compile the file @path, and whether the
 * driver may run the file itself: it may do so if the suffix does not say whether the file is a module.
 */
function isOpen(path, error) {
  return exec(/\.[mc]js$/, path) === null && types.isNativeError(error) && error.name === 'SyntaxError' &&
    startsWith(error.stack, path + ':');
}

return { __proto__: null, isOpen, isPlain, start, urlOf };
};
