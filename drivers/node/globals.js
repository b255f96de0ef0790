// SPDX-License-Identifier: Apache-2.0
'use strict';

// The globals of a program: require and import, console, process.stdout, retort, _. Also completion of names.
//
// They are globals and not local variables, because a step is not a function body. Most are created at their
// first use, so that the driver starts fast: node's modules (fs, path, …) and retort's are getters that
// replace themselves. Streams write synchronously, because a RESULT frame must follow all output.

const { process } = globalThis;
const genuine = require('./genuine.js');
const rich = require('./rich.js');
const { IMPORT } = require('./program.js');
const Module = require('module');
const path = require('path');
const { errno, signals } = require('os').constants;
const url = require('url');

const { define, describe, indexOf, lastIndexOf, slice, startsWith } = genuine;
const home = process.cwd();
const bare = process.argv[0];
const NAMES_MAX = 1000;
let loader = null; // a function (specifier, options) that imports as a file in the workspace would do
let base = path.join(home, '<step>'); // the file to which relative specifiers refer

function hide(name, value, target = globalThis) {
  define(target, name, { value, writable: true, enumerable: false, configurable: true });
}

/*
 * Return the path of a step's file, '' for code without a file. For a script it is the path to which argv[0]
 * leads.
 */
function fileOf(step) {
  const { filename } = step;
  if (filename === '' || filename === '-' || startsWith(filename, '<')) return '';
  if (step.once && step.argv.length > 0) return path.resolve(home, step.argv[0]);
  return path.join(home, slice(filename, lastIndexOf(filename, '/') + 1));
}

/* Remove the driver's files from the list of loaded modules. */
function hideModules() {
  const loaded = genuine.keys(require.cache);
  for (let i = 0; i < loaded.length; i++)
    if (startsWith(loaded[i], __dirname + '/')) delete require.cache[loaded[i]];
}

const parts = { __proto__: null };

/* Return a part of the driver. It is loaded at its first use. */
function part(name) {
  if (!(name in parts)) {
    parts[name] = require('./' + name + '.js');
    hideModules();
  }
  return parts[name];
}

// ---- modules ----------------------------------------------------------------------------------

/* Return a function that imports as code in @file would do. */
function makeLoader(file) {
  const holder = new Module(file, null);
  holder.filename = file;
  holder.paths = Module._nodeModulePaths(path.dirname(file));
  holder._compile('module.exports = (name, options) => import(name, options)', file);
  return holder.exports;
}

async function load(name, options) {
  if (loader === null) loader = makeLoader(base);
  try {
    return await loader(name, options);
  } catch (error) {
    explain(error, name);
    throw error;
  }
}

/*
 * Add the place of a syntax error to @error. The code for that is loaded late, because it is rarely needed. If
 * user code has broken a builtin that it uses, the original error must still be thrown.
 */
function explain(error, name) {
  try {
    part('syntax_error').locate(error, name, path.dirname(base));
  } catch (failure) {
    // Report the error as node has given it.
  }
}

/*
 * Import a module. The calls import(…) and the import declarations of a program are rewritten to calls of this
 * function. @wanted lists the names that the module must export; it may be undefined.
 */
async function importModule(name, options, wanted) {
  const found = await load(name, options);
  for (let i = 0; wanted !== undefined && i < wanted.length; i++) {
    if (!(wanted[i] in found))
      throw new SyntaxError("The requested module '" + name +
        "' does not provide an export named '" + wanted[i] + "'");
  }
  return found;
}

function makeRequire(file, target = globalThis) {
  const main = new Module(base, null);
  main.id = '.';
  main.filename = base;
  main.paths = Module._nodeModulePaths(home);
  if (target === globalThis) process.mainModule = main;
  const require = Module.createRequire(main.filename);
  require.main = main;
  hide('module', main, target);
  hide('exports', main.exports, target);
  hide('require', require, target);
  hide('__filename', file || path.basename(base), target);
  hide('__dirname', file ? path.dirname(file) : '.', target);
  return require;
}

/* Make fs, path and node's other modules available by name, as node's REPL and node -e do. */
function offerBuiltins(require, target) {
  const builtins = Module.builtinModules;
  for (let i = 0; i < builtins.length; i++) {
    const name = builtins[i];
    if (name in target || startsWith(name, '_') || genuine.exec(/[/:]/, name) !== null) continue;
    const set = (value) => define(target, name,
      { value, writable: true, enumerable: true, configurable: true });
    define(target, name, {
      get: () => {
        const value = require(name);
        define(target, name, { value, writable: true, enumerable: false, configurable: true });
        return value;
      },
      set,
      enumerable: false,
      configurable: true,
    });
  }
}

let isPrepared = false;
let isOffered = false;

/* Set process.argv and the base of relative imports. Called before each step. */
function prepare(step) {
  const { file } = step;
  const rest = [];
  for (let i = 1; i < step.argv.length; i++) genuine.push(rest, genuine.String(step.argv[i]));
  const first = step.filename === '<stdin>' ? ['-'] : file ? [file] : [];
  process.argv = [bare, ...first, ...rest];
  if (isPrepared) return;
  isPrepared = true;
  base = file || path.join(home, genuine.exec(/^<\w+>$/, step.filename) ? step.filename : '<step>');
}

/* Define as globals the variables that node passes to a CommonJS file as arguments, such as require. */
function offerModule(step) {
  if (isOffered) return;
  isOffered = true;
  const require = makeRequire(step.file);
  if (!step.file) offerBuiltins(require, globalThis);
}

/* Define in the global object @target of a scope what offerModule() defines in the session's. */
function offerNames(target) {
  const require = makeRequire('', target);
  offerBuiltins(require, target);
}

// ---- streams and console ----------------------------------------------------------------------

/*
 * Make a standard stream write synchronously: the data is in the pipe when write() returns. So a RESULT frame
 * needs no flush, and process.exit() loses no output, which it does with node's non-blocking pipes.
 */
function blockStream(name) {
  const own = describe(process, name);
  if (!own || !own.get) return;
  let stream = null;
  define(process, name, {
    get() {
      if (stream !== null) return stream;
      stream = genuine.apply(own.get, process, []);
      const handle = stream._handle;
      if (handle && typeof handle.setBlocking === 'function') handle.setBlocking(true);
      return stream;
    },
    set(value) {
      define(process, name, { value, writable: true, enumerable: true, configurable: true });
    },
    enumerable: true,
    configurable: true,
  });
}

/*
 * Return a stream that forwards to process.stdout or process.stderr, even if the program has assigned another
 * stream to it.
 */
function lazyStream(name) {
  const out = {};
  const methods = ['write', 'on', 'once', 'removeListener', 'listenerCount', 'getColorDepth'];
  for (let i = 0; i < methods.length; i++)
    out[methods[i]] = (...args) => process[name][methods[i]](...args);
  // The console of node 18 looks at _writableState to learn whether a write has failed.
  define(out, '_writableState', { get: () => process[name]._writableState });
  define(out, 'isTTY', { get: () => process[name].isTTY });
  return out;
}

/*
 * Replace the methods of node's console by those of a new one. The methods of node's console first report
 * each message to an inspector, which makes them three times slower and keeps the messages in memory.
 */
function plainConsole() {
  const { console } = globalThis;
  const plain = new console.Console({ stdout: lazyStream('stdout'), stderr: lazyStream('stderr') });
  const methods = genuine.keys(plain);
  for (let i = 0; i < methods.length; i++) {
    const name = methods[i];
    if (typeof plain[name] === 'function' && typeof console[name] === 'function' &&
      !startsWith(name, '_')) console[name] = plain[name];
  }
}

/*
 * Make timers print without ids and times. These differ in each run, so that a replay would appear to diverge.
 */
function plainTimers() {
  const timeout = setTimeout(() => {});
  const immediate = setImmediate(() => {});
  const show = (timer, text) => define(genuine.getPrototypeOf(timer), genuine.inspect.custom,
    { value: text, writable: true, configurable: true });
  clearTimeout(timeout);
  clearImmediate(immediate);
  show(timeout, function custom() {
    return 'Timeout { _idleTimeout: ' + this._idleTimeout + ', _repeat: ' + this._repeat + ' }';
  });
  show(immediate, () => 'Immediate {}');
}

// ---- _, the value of the last step --------------------------------------------------------------

/*
 * Define the global `_` of a global object: the value of the last step, until the program assigns to `_`.
 * Returns: the function that stores such a value.
 */
function offerLast(target) {
  let last;
  let isTaken = false;
  define(target, '_', {
    get: () => last,
    set: (value) => {
      isTaken = true;
      define(target, '_', { value, writable: true, enumerable: true, configurable: true });
    },
    enumerable: false,
    configurable: true,
  });
  return (value) => {
    if (value !== undefined && !isTaken) last = value;
  };
}

// ---- numbers from a seed ------------------------------------------------------------------------

/* Seed Math.random. This is V8's generator, with an initial state made by splitmix64. */
function seed(number) {
  const big = BigInt;
  const mask = (1n << 64n) - 1n;
  let state = big(number) & mask;
  const mix = () => {
    state = (state + 0x9e3779b97f4a7c15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return z ^ (z >> 31n);
  };
  let a = mix();
  let b = mix();
  Math.random = function random() {
    let x = a;
    a = b;
    x ^= (x << 23n) & mask;
    x ^= x >> 17n;
    x ^= b ^ (b >> 26n);
    b = x;
    return +('' + (a >> 12n)) / 4503599627370496;
  };
}

// ---- completion ---------------------------------------------------------------------------------

/*
 * Return the completions for the end of @text in @scope, or in the session's own if it is undefined. V8
 * evaluates the expression without side effects, so no user code runs.
 */
function complete(text, ask, scope) {
  const found = genuine.exec(/((?:[\p{ID_Continue}$]+\??\.)*)([\p{ID_Continue}$]*)$/u, text);
  const owner = found[1];
  if (owner === '' && text[text.length - found[0].length - 1] === '.') return [];
  const start = found[2];
  const expression = owner === '' ? 'globalThis' : slice(owner, 0, owner.length -
    (genuine.endsWith(owner, '?.') ? 2 : 1));
  const names = { __proto__: null };
  if (owner === '') {
    const lexical = ask('Runtime.globalLexicalScopeNames',
      scope ? { executionContextId: scope.number } : {});
    for (let i = 0; lexical && i < lexical.names.length; i++) names[lexical.names[i]] = true;
  }
  const value = ask('Runtime.evaluate', { expression: 'Object(' + expression + ')',
    throwOnSideEffect: true, silent: true, ...(scope ? { contextId: scope.number } : {}) });
  const id = value && !value.exceptionDetails && value.result.objectId;
  const members = id && ask('Runtime.getProperties', { objectId: id, ownProperties: false });
  for (let i = 0; members && i < members.result.length; i++) names[members.result[i].name] = true;
  const out = [];
  const all = genuine.sort(genuine.keys(names));
  for (let i = 0; i < all.length && out.length < NAMES_MAX; i++) {
    if (startsWith(all[i], start) && indexOf(all[i], '__retort_') < 0 &&
      genuine.exec(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, all[i]) !== null)
      genuine.push(out, all[i]);
  }
  return out;
}

// ---- calls to the engine ------------------------------------------------------------------------

/* Define tools and the like as getters. They are loaded when the program first uses one of them. */
function offerTools(retort, load) {
  let parts = null;
  const offer = (owner, name, part) => define(owner, name, {
    get: () => {
      if (parts === null) parts = load();
      return parts[part];
    },
    set: (value) => define(owner, name, { value, writable: true, enumerable: true, configurable: true }),
    enumerable: owner === retort,
    configurable: true,
  });
  const shared = [['tools', 'tools'], ['llm_query', 'llmQuery'], ['llm_query_batched', 'llmQueryBatched']];
  for (let i = 0; i < shared.length; i++) {
    offer(retort, ...shared[i]);
    offer(globalThis, ...shared[i]);
  }
  const own = ['skills', 'RetortError', 'ToolError', 'ToolDenied', 'ToolArgumentError', 'ToolLost', 'ToolLimit', 'Image'];
  for (let i = 0; i < own.length; i++) offer(retort, own[i], own[i]);
}

// ---- warnings ------------------------------------------------------------------------------------

/* Print a warning as node does, but without the process id, which would differ in a replay. */
function onWarning(warning) {
  const isDeprecation = warning.name === 'DeprecationWarning';
  if (isDeprecation && process.noDeprecation) return;
  const isTraced = process.traceProcessWarnings || (isDeprecation && process.traceDeprecation);
  process.stderr.write('(node) ' + (warning.code ? '[' + warning.code + '] ' : '') +
    (isTraced && warning.stack ? warning.stack : warning.name + ': ' + warning.message) +
    (typeof warning.detail === 'string' ? '\n' + warning.detail : '') + '\n');
}

function plainWarnings() {
  const nodes = process.listeners('warning');
  if (nodes.length !== 1) return; // warnings are disabled, or the program has its own listener
  process.removeListener('warning', nodes[0]);
  process.on('warning', onWarning);
}

// ---- signals ----------------------------------------------------------------------------------

/*
 * Change process.kill() for signals that a program sends to itself and for which it has no listener. node
 * believes that such a signal ends the process, and drops the inspector, without which no step can be
 * evaluated. But not every signal ends a process. So the signal is sent by a shell, and node does not notice.
 */
function plainKill() {
  const { kill, listenerCount, pid } = process;
  process.kill = function (target, signal) {
    const name = signal || (signal === 0 ? 0 : 'SIGTERM');
    const number = genuine.has(signals, name) ? signals[name] : name;
    if (target !== pid || typeof number !== 'number' || number < 1 ||
      genuine.apply(listenerCount, process, [name]) > 0)
      return genuine.apply(kill, process, [target, name]);
    const { spawnSync } = require('child_process'); // loaded late, because that takes milliseconds
    const { status, error } = spawnSync('/bin/sh', ['-c', 'kill -' + number + ' ' + pid]);
    if (status === 0) return true;
    const wrong = new genuine.Error('kill EINVAL');
    throw error || genuine.assign(wrong, { errno: -errno.EINVAL, code: 'EINVAL', syscall: 'kill' });
  };
}

// ---- install ----------------------------------------------------------------------------------

/*
 * Define all globals. @host has these functions: display(json) sends a display and returns whether that
 * succeeded. settled(promise) returns the value of a promise that settles without waiting. limit() returns the
 * limit of the size of a value.
 */
function install(host) {
  const show = (json, text) => {
    if (!host.display(json)) globalThis.console.log(text());
  };
  const retort = {
    display(...objects) {
      for (let i = 0; i < objects.length; i++) {
        const value = objects[i];
        show(rich.bundle(value, host.limit(), host.settled), () => genuine.inspect(value));
      }
    },
    displayRaw(data) {
      show(rich.bundleRaw(data, host.limit()), () => genuine.inspect(data));
    },
    final_answer(value) {
      show(rich.answer(value, host.limit(), host.settled), () => genuine.inspect(value));
    },
  };
  define(retort, Symbol.toStringTag, { value: 'retort' });
  hide('retort', retort);
  hide('final_answer', retort.final_answer);
  offerTools(retort, host.loadTools);
  const address = () => url.pathToFileURL(base).href;
  define(importModule, 'meta', { get: () => ({
    __proto__: null,
    dirname: home,
    filename: base,
    url: address(),
    resolve: (name) => {
      if (genuine.exec(/^(\.{0,2}\/|[a-z]+:)/, name) !== null) return new URL(name, address()).href;
      const found = globalThis.require.resolve(name);
      return path.isAbsolute(found) ? url.pathToFileURL(found).href : 'node:' + found;
    },
  }) });
  define(globalThis, IMPORT, { value: importModule });
  blockStream('stdout');
  blockStream('stderr');
  plainConsole();
  plainTimers();
  plainWarnings();
  plainKill();
  module.exports.names = Object.getOwnPropertyNames(globalThis);
  module.exports.keep = offerLast(globalThis);
  hideModules();
}

module.exports = { __proto__: null, complete, fileOf, home, install, keep: null, load, names: null, offerLast, offerModule,
  offerNames, part, prepare, seed };
