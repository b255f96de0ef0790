// SPDX-License-Identifier: Apache-2.0
'use strict';

/* Find the variables that a step has created or changed, with type and size. */
const genuine = require('./genuine.js');
const vm = require('vm');

const NAMES_MAX = 500;
const SENT_MAX = 21;
const NAME_CHARS = 60;
const runScript = genuine.uncurry(vm.Script.prototype.runInThisContext);
const WeakRefClass = globalThis.WeakRef;
const deref = genuine.uncurry(WeakRefClass.prototype.deref);
const isName = /^[\p{ID_Start}$][\p{ID_Continue}$]*$/u;
const own = genuine.keys(globalThis); // names of the globals before the program ran

function isOurs(name, scope) {
  const ours = scope ? scope.own : own;
  for (let i = 0; i < ours.length; i++) if (ours[i] === name) return true;
  return name.length > NAME_CHARS || genuine.exec(isName, name) === null;
}

/* Read a variable without calling a getter. Throws if the variable is not initialized. */
function read(name, isGlobal, scope) {
  if (!isGlobal) return scope ? scope.run(name) : runScript(new vm.Script(name));
  const found = genuine.describe(scope ? scope.target : globalThis, name);
  return found === undefined || !genuine.has(found, 'value') ? undefined : found.value;
}

function data(object, name) {
  const found = object === null || object === undefined ? undefined : genuine.describe(object, name);
  return found === undefined || !genuine.has(found, 'value') ? undefined : found.value;
}

function typeOf(value) {
  const kind = typeof value;
  if (value === null) return 'null';
  if (kind !== 'object') return kind;
  if (genuine.types.isProxy(value)) return 'Proxy';
  const maker = data(genuine.getPrototypeOf(value), 'constructor');
  const name = typeof maker === 'function' ? data(maker, 'name') : undefined;
  return typeof name === 'string' && name !== '' ? genuine.slice(name, 0, NAME_CHARS) : 'object';
}

const mapSize = genuine.uncurry(genuine.describe(Map.prototype, 'size').get);
const setSize = genuine.uncurry(genuine.describe(Set.prototype, 'size').get);
const listSize = genuine.uncurry(
  genuine.describe(genuine.getPrototypeOf(Uint8Array.prototype), 'length').get);

function sizeOf(value) {
  if (typeof value === 'string') return '' + value.length;
  if (typeof value !== 'object' || value === null || genuine.types.isProxy(value)) return '';
  if (genuine.isArray(value)) return '' + value.length;
  if (genuine.types.isMap(value)) return '' + mapSize(value);
  if (genuine.types.isSet(value)) return '' + setSize(value);
  if (genuine.types.isTypedArray(value)) return '' + listSize(value);
  return '';
}

/* Return a mark by which a value can be recognized later, without keeping the value alive. */
function mark(value) {
  const isHeld = (typeof value === 'object' && value !== null) || typeof value === 'function';
  const text = typeof value === 'string';
  return { __proto__: null, type: typeOf(value), size: sizeOf(value),
    held: isHeld ? new WeakRefClass(value) : null,
    plain: isHeld ? undefined : text ? genuine.slice(value, 0, 200) : value };
}

function isSame(a, b) {
  if (a.type !== b.type || a.size !== b.size) return false;
  if (a.held !== null && b.held !== null) return deref(a.held) === deref(b.held);
  return a.held === b.held && (a.plain === b.plain || (a.plain !== a.plain && b.plain !== b.plain));
}

/*
 * Mark the program's variables in @scope, or in the session's own if it is null. @ask calls the inspector. Returns: {names, map}; the map maps a name to its
 * mark.
 */
function snapshot(ask, scope) {
  const out = new genuine.MapClass();
  const names = [];
  const lexical = ask('Runtime.globalLexicalScopeNames',
    scope ? { executionContextId: scope.number } : {});
  const globals = genuine.keys(scope ? scope.target : globalThis);
  for (let i = 0; lexical && i < lexical.names.length; i++) genuine.push(names, lexical.names[i]);
  const nLexical = names.length;
  for (let i = 0; i < globals.length; i++) genuine.push(names, globals[i]);
  for (let i = 0; i < names.length && i < NAMES_MAX; i++) {
    try {
      if (!isOurs(names[i], scope))
        genuine.mapSet(out, names[i], mark(read(names[i], i >= nLexical, scope)));
    } catch (error) {
      // The variable is not initialized yet.
    }
  }
  return { __proto__: null, names, map: out };
}

/*
 * Return the member "variables" of a RESULT frame as JSON, with a comma before it. At most SENT_MAX variables
 * are listed.
 */
function changes(before, ask, quote, scope) {
  const now = snapshot(ask, scope);
  const rows = [];
  for (let i = 0; i < now.names.length && rows.length < SENT_MAX; i++) {
    const name = now.names[i];
    if (!genuine.mapHas(now.map, name)) continue;
    const is = genuine.mapGet(now.map, name);
    const isNew = !genuine.mapHas(before.map, name);
    if (!isNew && isSame(genuine.mapGet(before.map, name), is)) continue;
    genuine.push(rows, '{"name":' + quote(name) + ',"type":' + quote(is.type) +
      (is.size === '' ? '' : ',"size":' + quote(is.size)) +
      ',"change":"' + (isNew ? 'new' : 'changed') + '"}');
  }
  return ',"variables":[' + genuine.join(rows, ',') + ']';
}

module.exports = { __proto__: null, snapshot, changes };
