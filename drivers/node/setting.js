// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * The setting of a step: environment variables for this step only, and the scope that it uses.
 *
 * A scope is a vm context: a global object of its own, with builtins of its own, beside the session's global
 * object. Steps of a scope are evaluated in that context. It gets what node and retort offer as globals, as
 * node's own REPL does it. What only functions create, and no syntax of the language, is shared with the
 * session: a Buffer is a Uint8Array of the scope. For the other classes, such as Error and Promise, `instanceof`
 * in a scope accepts the session's objects, too, since node's modules create such.
 *
 * The inspector numbers the contexts. It names the numbers when Runtime.enable is called, so that is done once
 * for each scope.
 */
const inspector = require('inspector');
const vm = require('vm');

const { process } = globalThis;
const { chdir, cwd } = process;
const Session = inspector.Session;
const allNames = Object.getOwnPropertyNames;
const SHARED = ['ArrayBuffer', 'SharedArrayBuffer', 'Atomics', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray',
  'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array',
  'BigInt64Array', 'BigUint64Array', 'Date', 'Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'FinalizationRegistry',
  'Math'];

module.exports = (genuine, failure, globals) => {
const { define, describe, has } = genuine;
const connect = genuine.uncurry(Session.prototype.connect);
const disconnect = genuine.uncurry(Session.prototype.disconnect);
const post = genuine.uncurry(Session.prototype.post);
const hear = genuine.uncurry(Session.prototype.on);
const isInstance = genuine.uncurry(Function.prototype[Symbol.hasInstance]);
const runIn = genuine.uncurry(vm.Script.prototype.runInContext);

const { home } = globals;
const scopes = new genuine.MapClass(); // name → scope
let count = 0;

/* Return the inspector's number of the context that has the name @label. */
function numberOf(label) {
  const session = new Session();
  let number = 0;
  connect(session);
  hear(session, 'Runtime.executionContextCreated', (message) => {
    if (message.params.context.name === label) number = message.params.context.id;
  });
  try {
    post(session, 'Runtime.enable');
    post(session, 'Runtime.disable');
  } finally {
    disconnect(session);
  }
  return number;
}

function put(target, name, value) {
  define(target, name, { value, writable: true, enumerable: false, configurable: true });
}

/* Define @name in a scope as it is in the session. A getter of the session is asked at each use. */
function share(target, name) {
  const own = describe(globalThis, name);
  if (own === undefined) return;
  if (has(own, 'value')) define(target, name, own);
  else
    define(target, name, {
      get: () => globalThis[name],
      set: (value) => define(target, name, { value, writable: true, enumerable: true, configurable: true }),
      enumerable: own.enumerable,
      configurable: true,
    });
}

/* Let `instanceof` of the class @theirs of a scope accept instances of the session's class @ours. */
function accept(theirs, ours) {
  put(theirs, Symbol.hasInstance, function hasInstance(value) {
    return isInstance(this, value) || (this === theirs && isInstance(ours, value));
  });
}

/* Make a scope. It begins in the directory @place. */
function open(place) {
  const label = 'retort ' + ++count;
  const target = vm.createContext({}, { name: label });
  const run = (text) => runIn(new vm.Script(text), target);
  const builtin = { __proto__: null };
  const theirs = run('Object.getOwnPropertyNames(globalThis)');
  for (let i = 0; i < theirs.length; i++) builtin[theirs[i]] = true;
  delete builtin.console; // V8's own console prints nothing
  for (let i = 0; i < globals.names.length; i++)
    if (builtin[globals.names[i]] !== true) share(target, globals.names[i]);
  for (let i = 0; i < SHARED.length; i++) if (SHARED[i] in globalThis) share(target, SHARED[i]);
  for (let i = 0; i < theirs.length; i++) {
    const [their, our] = [run('globalThis')[theirs[i]], globalThis[theirs[i]]];
    if (their !== our && typeof their === 'function' && typeof our === 'function' && has(their, 'prototype'))
      accept(their, our);
  }
  put(target, 'global', run('globalThis'));
  globals.offerNames(target);
  failure.install(run('Error'));
  return {
    __proto__: null,
    number: numberOf(label),
    target,
    run,
    place: place === null ? home : place[0] === '/' ? place : home + '/' + place,
    keep: globals.offerLast(target),
    own: allNames(target),
  };
}

/* Return the scope @name, or undefined if there is none. */
function find(name) {
  return genuine.mapGet(scopes, name);
}

// ---- a step -------------------------------------------------------------------------------------

function beginScope(step, wanted) {
  const { scope: name, cwd: place } = wanted;
  if (wanted.isFresh) {
    genuine.mapDelete(scopes, name);
    if (place === null && genuine.trim(step.code) === '') return; // a context would cost some milliseconds
  }
  const isNew = !genuine.mapHas(scopes, name);
  const scope = isNew ? open(place) : find(name);
  const left = whereNow();
  try {
    chdir.call(process, scope.place);
  } catch (error) {
    if (isNew) throw new genuine.Error('the scope cannot begin in ' + scope.place + ': no such directory');
    chdir.call(process, home); // somebody has removed the directory meanwhile
  }
  wanted.left = left;
  genuine.mapSet(scopes, name, scope);
  step.scope = scope;
}

/* Return the working directory, or the workspace if it no longer exists. */
function whereNow() {
  try {
    return cwd.call(process);
  } catch (error) {
    return home;
  }
}

/* Set what @step.setting asks for. Throws if the scope cannot begin. */
function begin(step) {
  const wanted = step.setting;
  const { env } = process;
  const names = wanted.env === null ? [] : genuine.keys(wanted.env);
  wanted.environ = env;
  wanted.former = { __proto__: null };
  for (let i = 0; i < names.length; i++) {
    wanted.former[names[i]] = has(env, names[i]) ? env[names[i]] : undefined;
    env[names[i]] = wanted.env[names[i]];
  }
  if (wanted.scope !== null) beginScope(step, wanted);
}

/* Put everything back after a step. */
function end(step) {
  const { environ, former, left } = step.setting;
  const names = genuine.keys(former);
  for (let i = 0; i < names.length; i++) {
    if (former[names[i]] === undefined) delete environ[names[i]];
    else environ[names[i]] = former[names[i]];
  }
  if (step.scope === null) return;
  step.scope.place = whereNow();
  try {
    chdir.call(process, left);
  } catch (error) {
    chdir.call(process, home);
  }
}

return { __proto__: null, begin, end, find };
};
