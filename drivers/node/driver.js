// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * The process that runs JavaScript steps. It reads STEP frames and answers with RESULT frames.
 *
 * Evaluation. A step is evaluated in V8's REPL mode, like input to the console of a browser's developer tools:
 * variables persist and can be declared again, and await works at top level. Only an inspector session can
 * request REPL mode (Runtime.evaluate). The session is opened for this call and closed before anything
 * asynchronous continues, because an attached inspector slows the program down and is visible to it.
 *
 * The promise of the result. The inspector's reply is not used, because it would contain a copy of the value.
 * Instead a promise hook records the first promise that V8 creates during the call. This is the script's
 * promise, and the driver awaits it (evaluate()).
 *
 * Frames. While there is nothing else to do, the driver blocks in a read of the channel. From the first step
 * of a session on, it reads through the event loop instead, so that timers and sockets of earlier steps
 * continue between steps.
 *
 * The end. A step of a session ends when its promise settles. A script ends like any node program, when the
 * event loop is empty. Errors that the program does not catch are reported as node does it, after the
 * program's own listeners were called.
 *
 * Interrupts. SIGINT can end even an endless loop, but only in code that was called by the vm module. So each
 * step is started through the vm module (guard()).
 *
 * The other files are these:
 *   genuine    builtins as they were before user code ran
 *   rich       displays of a value, by MIME type
 *   channel    frames
 *   globals    the program's globals: require, import, console, retort
 *   program    rewrites imports and types
 *   failure    error reports
 *   stdin      standard input of a step
 * The following are loaded when they are needed:
 *   calls      calls to the engine
 *   tools      retort.tools, llm_query
 *   skills     retort.skills
 *   variables  which variables a step has changed
 *   setting    environment variables and scope of a step
 *   script     a program that is a file
 *   syntax_error  the place of an error in an imported module
 */
const { process } = globalThis;
const genuine = require('./genuine.js');
const rich = require('./rich.js');
const failure = require('./failure.js');
const program = require('./program.js');
const fs = require('fs');
const inspector = require('inspector');
const v8 = require('v8');
const vm = require('vm');
const globals = require('./globals.js');
const stdin = require('./stdin.js');
const channel = require('./channel.js');

const STEP = 1;
const TOOL_RESULT = 4;
const BYE = 5;
const SETUP = 7;
const NAMES = 8;
const CHECKPOINT = 9;
const READY = 16;
const BEGIN = 17;
const GUARD = 18;
const DISPLAY = 19;
const RESULT = 21;
const DONE = 23;
const VALUE_BYTES = 1 << 20;
const VALUE_BYTES_MAX = 4 << 20;
const SOURCES_MAX = 1000;
const UNSETTLED = 13; // node's exit status when the event loop is empty but an await is pending
const MAJOR_MIN = 18;
// After so many errors between two steps the process exits, because node itself is broken and would go on
// failing.
const STRAYS_MAX = 100;
const ENTRANCE = '__retort_enter__';

const { quote } = rich;
const { readSync, fstatSync } = fs;
const { addBytes, send, takeFrame } = channel;
const { setImmediate } = globalThis;
const { reallyExit } = process;
const exit = process.exit;
const tick = process._tickCallback;
const listenerCount = process.listenerCount;
const onInit = v8.promiseHooks && v8.promiseHooks.onInit;
const Session = inspector.Session;
const connect = genuine.uncurry(Session.prototype.connect);
const disconnect = genuine.uncurry(Session.prototype.disconnect);
const post = genuine.uncurry(Session.prototype.post);
const entry = new vm.Script('this.' + ENTRANCE + '()', { filename: __filename });
const runScript = genuine.uncurry(vm.Script.prototype.runInThisContext);

const sources = new genuine.MapClass(); // name → {code, text}
const names = [];
let current = null; // the running step
let entrance = null;
let live = null; // {session, stop, hidden} while a script is being started, otherwise null
let strays = 0;
let calls = null; // the module calls.js once it is loaded
let early = []; // frames that were read while a step ran, to be handled after it
let isDone = false; // a script has ended
let hasExited = false; // process.exit() was called

// ---- a step -----------------------------------------------------------------------------------

function field(message, name, fallback) {
  return genuine.has(message, name) && message[name] !== null ? message[name] : fallback;
}

/* Return what surrounds a step, see setting.js; null for most steps. */
function settingOf(message) {
  const env = field(message, 'env', null);
  const scope = field(message, 'scope', null);
  if (env === null && scope === null) return null;
  return { __proto__: null, env, scope, isFresh: field(message, 'fresh_scope', false),
    cwd: field(message, 'cwd', null) };
}

function newStep(message) {
  const limit = field(message, 'value_bytes', VALUE_BYTES);
  const step = {
    __proto__: null,
    id: field(message, 'id', ''),
    code: field(message, 'code', ''),
    filename: field(message, 'filename', '<step>'),
    argv: field(message, 'argv', []),
    preload: field(message, 'preload', ''),
    once: field(message, 'mode', 'once') !== 'session',
    language: field(message, 'language', ''),
    input: field(message, 'stdin_text', null),
    limit: limit < VALUE_BYTES_MAX ? limit : VALUE_BYTES_MAX,
    variables: field(message, 'variables', false) ? [] : null,
    setting: settingOf(message),
    scope: null, // the scope of setting.js that the step uses, null for the session's own
    name: '',
    settled: false,
    begun: false,
    over: false,
    value: undefined,
    error: null,
    exitCode: 0,
  };
  step.file = globals.fileOf(step);
  return step;
}

/*
 * Run @job so that SIGINT ends it, even in an endless loop. node offers this only for code that is called by
 * the vm module. Returns: whether @job ran to its end.
 */
function guard(job) {
  entrance = job;
  try {
    runScript(entry, { breakOnSigint: true });
    return true;
  } catch (error) {
    return false;
  } finally {
    entrance = null;
  }
}

function enter() {
  const job = entrance;
  entrance = null;
  if (job !== null) job();
}

/* Store the source for tracebacks, under a name that is unique among steps and that V8 accepts. */
function keepSource(step, text) {
  const plain = step.file || step.filename;
  let base = '';
  for (let i = 0; i < plain.length && i < 4000; i++)
    base += genuine.exec(/[\s'"()]/, plain[i]) === null ? plain[i] : '_';
  let name = base;
  for (let n = 2; genuine.mapHas(sources, name); n++)
    name = genuine.endsWith(base, '>') ? genuine.slice(base, 0, -1) + '-' + n + '>' : base + '-' + n;
  step.name = name;
  genuine.mapSet(sources, name, { __proto__: null, code: step.code, text });
  genuine.push(names, name);
  if (names.length > SOURCES_MAX) genuine.mapDelete(sources, genuine.shift(names));
}

/*
 * Remove Object.prototype.toJSON for a moment. node serializes inspector requests with JSON.stringify, which
 * would call a toJSON that the program has defined. Returns: the removed property, or null.
 */
function hideToJson() {
  const hidden = genuine.describe(genuine.ObjectPrototype, 'toJSON');
  if (hidden === undefined || !hidden.configurable) return null;
  delete genuine.ObjectPrototype.toJSON;
  return hidden;
}

function showToJson() {
  if (live.hidden !== null) genuine.define(genuine.ObjectPrototype, 'toJSON', live.hidden);
  live.hidden = null;
}

function stopHook() {
  if (live.stop !== null) live.stop();
  live.stop = null;
}

/*
 * Clean up after starting a script. An interrupt may stop this function anywhere. The next call then repeats
 * each action that is not yet marked as done.
 */
function stopLive() {
  if (live === null) return;
  showToJson();
  stopHook();
  disconnect(live.session);
  live = null;
}

/*
 * Start a script in REPL mode. Returns: {details} of a compile error; otherwise {promise}, a promise whose
 * value is {".repl_result": value}.
 *
 * The promise is the first one that V8 creates, so a hook records it. The inspector's reply would hold only a
 * copy of the value, and would drop the only reference to the promise.
 */
function evaluate(step, text) {
  const session = new Session();
  let first = null;
  let details = null;
  let isSync = true;
  connect(session);
  const ours = { __proto__: null, session, stop: null, hidden: hideToJson() };
  live = ours;
  live.stop = onInit((promise) => {
    if (first !== null || live !== ours) return;
    first = promise;
    showToJson(); // from here on, user code runs
    stopHook();
  });
  // The engine sends interrupts from here on. An interrupt before live.stop was set would have left the hook
  // installed.
  begin(step);
  const request = { expression: text + '\n//# sourceURL=' + step.name, replMode: true };
  if (step.scope) request.contextId = step.scope.number;
  post(session, 'Runtime.evaluate', request, (error, reply) => {
    if (!isSync) return;
    details = error ? { exception: { description: 'Error: ' + error.message }, lineNumber: 0,
      columnNumber: 0 } : reply.exceptionDetails || null;
  });
  isSync = false;
  stopLive();
  return details !== null ? { details } : { promise: first };
}

function failSyntax(step, details) {
  step.error = failure.describeSyntax(details, step.name, sources);
  step.exitCode = 1;
  settle(step);
}

function fail(step, thrown) {
  if (step.error === null) step.error = failure.describe(thrown, sources);
  step.exitCode = 1;
  settle(step);
}

/*
 * Note that the step has its value or its error, and end it. A script without an error continues until the
 * event loop is empty.
 */
function settle(step) {
  if (step.settled) return;
  step.settled = true;
  if (step.once && step.error === null) return;
  if (step.once) exit(step.exitCode);
  else setImmediate(finish, step);
}

/*
 * Handle an error of a script. If the program has a listener for uncaughtException, the listener is called and
 * the script continues, as in node.
 */
function failScript(step, error) {
  if (step.over) return;
  if (!hasHandlers()) {
    fail(step, error);
    return;
  }
  settle(step);
  genuine.apply(fatal, process, [error, false]);
}

async function follow(step, promise) {
  try {
    const wrapped = await promise;
    let value = wrapped['.repl_result'];
    // Do not await a script's promise here: that would count as handling its rejection. It is looked at when
    // the script ends.
    if (!step.once && genuine.types.isPromise(value)) value = await value;
    if (step.over) return;
    step.value = value;
    settle(step);
  } catch (error) {
    if (step.once) failScript(step, error);
    else if (!step.over) fail(step, error);
  }
}

/*
 * Try to compile code as TypeScript that does not compile as JavaScript. Returns: the code without types.
 * Returns '' if the code was declared to be TypeScript from the start, if its types cannot be removed, or if
 * it has none; V8's error is then reported.
 */
function asTypeScript(step, details) {
  const line = genuine.split(step.code, '\n')[details.lineNumber];
  if (isTypeScript(step)) return '';
  if (!program.canStrip()) {
    if (line !== undefined && program.isTyped(line))
      details.hint = ' (TypeScript needs node 22.13 or newer, this is ' + process.versions.node + ')';
    return '';
  }
  try {
    const text = program.toScript(program.stripTypes(step.code));
    step.language = 'typescript';
    return text === genuine.mapGet(sources, step.name).text ? '' : text;
  } catch (error) {
    return '';
  }
}

function startScript(step, text) {
  const { details, promise } = evaluate(step, text);
  if (details && step.once && details.exception &&
    genuine.startsWith(details.exception.description, 'SyntaxError: Illegal return')) {
    // A file may use return at its top level, because node runs it as the body of a function. So do the same.
    const body = 'await (async function () {' + text + '\n}).call(module.exports)';
    const second = evaluate(step, body);
    if (!second.details) return follow(step, second.promise);
  }
  const untyped = details ? asTypeScript(step, details) : '';
  if (untyped !== '') {
    const second = evaluate(step, untyped);
    if (!second.details) {
      genuine.mapGet(sources, step.name).text = untyped;
      return follow(step, second.promise);
    }
  }
  if (details) failSyntax(step, details);
  else follow(step, promise);
  return undefined;
}

function isTypeScript(step) {
  return step.language === 'typescript' || genuine.exec(/\.[mc]?ts$/, step.filename) !== null;
}

function prepare(step) {
  let text = step.code;
  keepSource(step, text);
  if (isTypeScript(step)) text = program.stripTypes(text);
  text = program.toScript(text);
  genuine.mapGet(sources, step.name).text = text;
  return text;
}

function plainError(name, message) {
  return { __proto__: null, name, message, traceback: [name + ': ' + message] };
}

function interrupt(step) {
  if (step.over) return;
  step.error = plainError('Interrupted', 'the step was interrupted');
  step.exitCode = 130;
  step.value = undefined;
  if (step.once) exit(130);
  step.settled = true;
  setImmediate(finish, step);
}

/* Tell the engine that the step's code begins. From now on, the engine sends interrupts. */
function begin(step) {
  if (!step.begun) send(BEGIN, '{"id":' + quote(step.id) + '}');
  step.begun = true;
}

/* Start a step whose code node does not run as a file. */
function startCode(step) {
  let text;
  globals.offerModule(step);
  try {
    text = prepare(step);
  } catch (error) {
    begin(step);
    fail(step, error);
    return;
  }
  startScript(step, text);
}

async function followFile(step, promise) {
  try {
    await promise;
    if (!step.over) settle(step);
  } catch (error) {
    failScript(step, error);
  }
}

function startFile(step) {
  const script = globals.part('script')(genuine, globals.load);
  let promise;
  if (!step.once || step.file === '' || !script.isPlain(step.file, step.code)) return startCode(step);
  const source = { __proto__: null, code: step.code, text: step.code };
  genuine.mapSet(sources, step.file, source);
  genuine.mapSet(sources, script.urlOf(step.file), source);
  begin(step);
  try {
    promise = script.start(step.file);
  } catch (error) {
    if (!script.isOpen(step.file, error)) return failScript(step, error);
    genuine.mapDelete(sources, step.file);
    return startCode(step);
  }
  return promise === undefined ? settle(step) : followFile(step, promise);
}

function runStep(step) {
  const isWhole = guard(() => {
    startFile(step);
    tick.call(process);
  });
  stopLive();
  if (!isWhole && !step.settled) interrupt(step);
}

function isListening() {
  const all = process.listeners('SIGINT');
  for (let i = 0; i < all.length; i++) if (all[i] === onSigint) return true;
  return false;
}

async function start(step) {
  current = step;
  strays = 0;
  globals.prepare(step);
  // For a script that is a file, node defines these names. If node cannot run the file, startCode() calls
  // offerModule() instead.
  if (!step.once || step.file === '') globals.offerModule(step);
  if (!isListening()) process.on('SIGINT', onSigint);
  if (step.input !== null || stdin.isOwn) stdin.give(step.input);
  if (step.setting !== null) {
    try {
      setting().begin(step);
    } catch (error) {
      begin(step);
      fail(step, error);
      return;
    }
  }
  if (step.variables !== null)
    step.variables = inspected((ask) => variables().snapshot(ask, step.scope), null);
  if (step.preload !== '') begin(step);
  const wanted = genuine.split(step.preload, ',');
  for (let i = 0; i < wanted.length && !step.over; i++) {
    const name = genuine.trim(wanted[i]);
    try {
      if (name !== '') await globals.load(name);
    } catch (error) {
      fail(step, error);
      return;
    }
  }
  if (!step.over) runStep(step);
}

// ---- the end of a step ------------------------------------------------------------------------

// Return the value of a promise that settles without waiting for events. Returns undefined for other promises,
// and @value itself if it is not a promise.
function settled(value) {
  if (!genuine.types.isPromise(value)) return value;
  const out = { __proto__: null, value: undefined, error: null };
  (async () => {
    try {
      out.value = await value;
    } catch (error) {
      out.error = { error };
    }
  })();
  tick.call(process);
  if (out.error !== null) throw out.error.error;
  return out.value;
}

/*
 * Return the value of a script's promise. Return undefined if the promise was rejected: the script has
 * continued, so a listener has handled the rejection.
 */
function ofScript(value) {
  try {
    return settled(value);
  } catch (error) {
    return undefined;
  }
}

function showValue(step) {
  let shown = '';
  if (step.error !== null) return '';
  const isWhole = guard(() => {
    try {
      if (step.once) step.value = ofScript(step.value);
      if (step.value !== undefined) shown = rich.bundle(step.value, step.limit, settled);
    } catch (error) {
      step.error = failure.describe(error, sources);
      step.exitCode = 1;
    }
  });
  if (!isWhole) {
    step.error = plainError('Interrupted', 'the step was interrupted');
    step.exitCode = 130;
  }
  return step.error === null ? shown : '';
}

/*
 * Return the result of @job(ask), where ask(method, params) calls the inspector. Return @fallback if @job
 * throws.
 */
function inspected(job, fallback) {
  const session = new Session();
  connect(session);
  try {
    return job((method, params) => {
      let out = null;
      post(session, method, params, (error, reply) => {
        out = error ? null : reply;
      });
      return out;
    });
  } catch (error) {
    return fallback;
  } finally {
    disconnect(session);
  }
}

let settings = null;

/* Load setting.js. This is done late, because few steps have a setting. */
function setting() {
  if (settings === null) settings = globals.part('setting')(genuine, failure, globals);
  return settings;
}

/* Load variables.js. This is done late, because only agents ask for the variables that a step has changed. */
function variables() {
  return globals.part('variables');
}

function errorJson(error) {
  const lines = [];
  for (let i = 0; i < error.traceback.length; i++) genuine.push(lines, quote(error.traceback[i]));
  return '{"name":' + quote(error.name) + ',"message":' + quote(error.message) +
    (error.line ? ',"line":' + error.line : '') +
    ',"traceback":[' + genuine.join(lines, ',') + ']}';
}

function complain(error) {
  tell(failure.textOf(error));
}

function tell(text) {
  try {
    process.stderr.write(text);
  } catch (failure) {
    // User code has closed the descriptor, or opened something else under its number.
  }
}

function putBack(step) {
  try {
    setting().end(step);
  } catch (error) {
    // The program has broken what that uses.
  }
}

// Send the step's result. Returns: whether that succeeded.
function report(step) {
  const shown = showValue(step);
  step.over = true;
  if (calls !== null) calls.endStep();
  if (step.error !== null && step.exitCode !== 0 && step.error.name !== 'Exit') complain(step.error);
  const head = '{"id":' + quote(step.id) + ',"status":"' +
    (step.error === null && step.exitCode === 0 ? 'ok' : 'error') + '","exit_code":' + step.exitCode;
  const error = (step.error === null ? '' : ',"error":' + errorJson(step.error)) +
    (step.variables === null ? '' :
      inspected((ask) => variables().changes(step.variables, ask, quote, step.scope), ''));
  if (step.setting !== null) putBack(step);
  if (send(RESULT, head + (shown === '' ? '' : ',"value":' + shown) + error + '}')) return true;
  const note = '{"text/plain":"<value too large to be sent>"}';
  return shown !== '' && send(RESULT, head + ',"value":' + note + error + '}');
}

/* End a step of a session. */
function finish(step) {
  if (step.over) return;
  if (!report(step)) {
    tell('retort: the step has closed the driver\'s channel\n');
    reallyExit.call(process, step.exitCode || 1);
  }
  if (step.error === null) (step.scope || globals).keep(step.value);
  step.value = undefined;
  current = null;
  serve();
}

/*
 * End a script as node does. This is the process's first listener for "exit", so it calls the program's
 * listeners itself.
 */
function onExit(code) {
  const step = current;
  if (step === null || !step.once || step.over || isDone) return;
  isDone = true;
  if (step.error === null && !step.settled && code === 0 && !process.exitCode && !hasExited)
    step.unsettled = true;
  const others = process.rawListeners('exit');
  let isAfter = false;
  for (let i = 0; i < others.length; i++) {
    try {
      if (isAfter) genuine.apply(others[i], process, [process.exitCode || code]);
    } catch (error) {
      fail(step, error);
    }
    if (others[i] === onExit) isAfter = true;
  }
  endScript(step, process.exitCode === undefined ? code : +process.exitCode);
}

function endScript(step, code) {
  if (step.error === null && step.unsettled) {
    step.exitCode = UNSETTLED;
    step.error = plainError('Unsettled', 'the event loop is empty, but the top-level await still waits');
  } else {
    step.exitCode = code & 0xff;
    if (code && step.error === null) {
      step.error = plainError('Exit', 'the program ended itself with status ' + step.exitCode);
    }
  }
  report(step);
  reallyExit.call(process, step.exitCode);
}

// ---- events from outside of the step ------------------------------------------------------------

function onSigint() {
  const step = current;
  if (step === null || step.over) return;
  if (step.once && listenerCount.call(process, 'SIGINT') > 1) return;
  interrupt(step);
}

const fatal = process._fatalException;

const setCapture = process.setUncaughtExceptionCaptureCallback;

function hasHandlers() {
  return listenerCount.call(process, 'uncaughtException') > 0 ||
    process.hasUncaughtExceptionCaptureCallback();
}

function onUncaught(error) {
  const step = current;
  if (step === null || step.over) {
    complain(failure.describe(error, sources));
    if (++strays === STRAYS_MAX) reallyExit.call(process, 1);
    return;
  }
  // The step may have been settled and may wait for other work, but the error ends it in any case.
  step.settled = false;
  fail(step, error);
}

/*
 * Handle an uncaught error. The program's listeners come first, as in node. node's own function is called in
 * any case, because only it can clean up node's stacks of async calls. If the program has no listener, node's
 * function calls onUncaught().
 */
function onFatal(error, isRejection) {
  if (isDone || hasHandlers()) return genuine.apply(fatal, process, [error, isRejection]);
  genuine.apply(setCapture, process, [onUncaught]);
  try {
    return genuine.apply(fatal, process, [error, isRejection]);
  } finally {
    genuine.apply(setCapture, process, [null]);
  }
}

function done(message, error) {
  const what = error ? ',"error":{"name":' + quote(error.name) + ',"message":' +
    quote(error.message) + '}' : '';
  send(DONE, '{"id":' + quote(field(message, 'id', '')) + what + '}');
}

async function setUp(message) {
  let error = null;
  const preload = field(message, 'preload', []);
  try {
    for (let i = 0; i < preload.length; i++) await globals.load(preload[i]);
    if (genuine.has(message, 'session')) process.env.RETORT_SESSION = message.session;
    if (genuine.has(message, 'seed')) globals.seed(message.seed);
    if (field(message, 'warm', false)) await evaluate('void 0', '<warm>').promise;
  } catch (thrown) {
    error = failure.describe(thrown, sources);
  }
  done(message, error);
  current = null;
  serve();
}

function complete(message) {
  const name = field(message, 'scope', null);
  const scope = name === null ? undefined : setting().find(name);
  const found = name !== null && scope === undefined ? [] :
    inspected((ask) => globals.complete(field(message, 'text', ''), ask, scope), []);
  const parts = [];
  for (let i = 0; i < found.length; i++) genuine.push(parts, quote(found[i]));
  send(DONE, '{"id":' + quote(field(message, 'id', '')) + ',"names":[' +
    genuine.join(parts, ',') + ']}');
}

function leave(code) {
  exit(code);
}

function nextFrame() {
  if (current !== null) return null;
  return early.length > 0 ? genuine.shift(early) : takeFrame();
}

/*
 * Handle frames that arrive while a step runs. They are answers to the step's calls; others are handled later.
 */
function hear() {
  for (let frame = takeFrame(); frame !== null; frame = takeFrame()) {
    if (frame.kind === BYE) leave(0);
    else if (frame.kind !== TOOL_RESULT) genuine.push(early, frame);
    else if (calls !== null) calls.take(frame.text);
  }
}

/* Handle frames while no step runs. */
function serve() {
  for (let frame = nextFrame(); frame !== null; frame = nextFrame()) {
    const { kind, text } = frame;
    const message = kind === TOOL_RESULT || text === '' ? {} : genuine.parse(text);
    if (kind === BYE) leave(0);
    else if (kind === NAMES) complete(message);
    else if (kind === CHECKPOINT)
      send(GUARD, '{"id":' + quote(field(message, 'id', '')) + ',"reason":"runtime"}');
    else if (kind === SETUP) {
      current = { __proto__: null, over: true };
      setUp(message);
      return;
    } else if (kind === STEP) {
      const step = newStep(message);
      if (!step.once) listen();
      else if (channel.socket !== null) channel.socket.unref(); // a script ends when nothing else is awaited
      start(step);
      return;
    }
  }
  if (current === null) listen();
}

/*
 * Read frames through the event loop from now on, so that background work of the program continues between
 * steps. This is called at the first step of a session.
 */
function listen() {
  if (channel.socket !== null) return;
  const net = require('net');
  channel.socket = new net.Socket({ fd: channel.fd, readable: true, writable: false });
  channel.socket.on('data', (bytes) => {
    addBytes(bytes);
    if (current === null) serve();
    else hear();
  });
  channel.socket.on('end', () => leave(0));
  channel.socket.on('close', () => leave(0));
  channel.socket.on('error', () => leave(0));
}

/* Wait for the first frames by blocking reads. Nothing else can happen yet, so no stream is needed. */
function readFirst() {
  const bytes = genuine.bytesNew(1 << 16);
  for (;;) {
    let n = 0;
    try {
      n = readSync(channel.fd, bytes, 0, bytes.length, null);
    } catch (error) {
      if (error.code === 'EINTR') continue;
    }
    if (n <= 0) reallyExit.call(process, 0);
    addBytes(genuine.bytesFrom(genuine.bytesPart(bytes, 0, n)));
    if (channel.hasFrame()) break;
  }
  serve();
}

/* Load retort.tools and the other parts that call the engine. User code may have changed builtins by then. */
function loadTools() {
  const host = {
    __proto__: null,
    step: () => current !== null && !current.over && current.id !== undefined ? current : null,
    listen,
    hold: (isWanted) => {
      if (current !== null && current.once) channel.socket[isWanted ? 'ref' : 'unref']();
    },
    complain: tell,
  };
  calls = globals.part('calls')(genuine, channel, rich, host);
  const tools = globals.part('tools')(genuine, calls);
  const skills = globals.part('skills')(genuine, calls, tools.ask, globals.load);
  return { __proto__: null, ...tools, skills, ...calls.errors, Image: calls.Image };
}

function display(shown) {
  const step = current;
  if (step === null || step.over) return false;
  return send(DISPLAY, '{"id":' + quote(step.id) + ',"data":' + shown + ',"metadata":{}}');
}

function main() {
  const versions = genuine.split(process.versions.node, '.');
  if (process.argv.length > 2) channel.fd = +process.argv[2];
  channel.ino = fstatSync(channel.fd).ino;
  send(READY, '{"version":' + quote(process.versions.node) + ',"implementation":"node","pid":' +
    process.pid + '}');
  if (+versions[0] < MAJOR_MIN || !onInit || !tick) {
    fs.writeSync(2, 'retort: node ' + process.versions.node + ' is too old: install node ' +
      MAJOR_MIN + ' or newer, or name one with --python PATH\n');
    reallyExit.call(process, 127);
  }
  genuine.define(globalThis, ENTRANCE, { value: enter });
  failure.install();
  globals.install({ display, settled, loadTools,
    limit: () => (current && current.limit) || VALUE_BYTES });
  process.exit = function (code) {
    hasExited = true;
    return genuine.apply(exit, process, arguments.length ? [code] : []);
  };
  process._fatalException = onFatal;
  process.on('exit', onExit);
  process.on('SIGINT', onSigint);
  readFirst();
}

main();
