// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * Programs in files, run as node runs them: .mjs as a module; others as CommonJS, with top-level names of their
 * own, or as a module when package.json or the source says so. If node cannot compile the file, for example when it
 * contains both await and require, the driver runs the code itself, which accepts both. That does not apply to .mjs
 * and .cjs, whose kind is explicit.
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

/* Does @code use top-level await, which CommonJS lacks, without being a module? */
function isWaiting(code) {
  const body = '() => {' + (startsWith(code, '#!') ? '//' : '') + code + '\n}';
  return !compiles(body) && compiles('async ' + body);
}

/* Can node run the file @path with this code? It supports TypeScript only in part. */
function isPlain(path, code) {
  if (exec(/\.[mc]?ts$/, path) !== null || !fs.existsSync(path)) return false;
  return exec(/\.[mc]js$/, path) !== null || !isWaiting(code);
}

/*
 * Start the program @path. Returns: a promise of its end, or undefined when it has ended already. Throws: what the
 * program throws, or a compile error.
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
 * Does @error of start() mean that node cannot compile the file itself, and does the suffix leave its kind open?
 */
function isOpen(path, error) {
  return exec(/\.[mc]js$/, path) === null && types.isNativeError(error) && error.name === 'SyntaxError' &&
    startsWith(error.stack, path + ':');
}

return { __proto__: null, isOpen, isPlain, start, urlOf };
};
