// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * The builtins that the driver uses, saved before user code runs (node calls its own set "primordials"). A step
 * that replaces JSON.stringify, String.prototype.slice or Buffer breaks itself but not the driver. Methods take the
 * object as their first argument: genuine.slice(text, 0, 5).
 */
const { call } = Function.prototype;
const uncurry = call.bind.bind(call);
const util = require('util');

const text = String.prototype;
const list = Array.prototype;

module.exports = {
  __proto__: null,
  uncurry,
  String,
  Error,
  Promise,
  Symbol,
  isArray: Array.isArray,
  isFinite: Number.isFinite,
  isSafeInteger: Number.isSafeInteger,
  parse: JSON.parse,
  stringify: JSON.stringify,
  apply: Reflect.apply,
  ownKeys: Reflect.ownKeys,
  symbols: Object.getOwnPropertySymbols,
  getPrototypeOf: Object.getPrototypeOf,
  describe: Object.getOwnPropertyDescriptor,
  define: Object.defineProperty,
  keys: Object.keys,
  assign: Object.assign,
  ObjectPrototype: Object.prototype,
  ArrayPrototype: Array.prototype,
  has: uncurry(Object.prototype.hasOwnProperty),
  slice: uncurry(text.slice),
  indexOf: uncurry(text.indexOf),
  lastIndexOf: uncurry(text.lastIndexOf),
  split: uncurry(text.split),
  startsWith: uncurry(text.startsWith),
  endsWith: uncurry(text.endsWith),
  trim: uncurry(text.trim),
  trimEnd: uncurry(text.trimEnd),
  lower: uncurry(text.toLowerCase),
  repeat: uncurry(text.repeat),
  codeAt: uncurry(text.charCodeAt),
  join: uncurry(list.join),
  push: uncurry(list.push),
  shift: uncurry(list.shift),
  sort: uncurry(list.sort),
  exec: uncurry(RegExp.prototype.exec),
  MapClass: Map,
  mapGet: uncurry(Map.prototype.get),
  mapSet: uncurry(Map.prototype.set),
  mapHas: uncurry(Map.prototype.has),
  mapDelete: uncurry(Map.prototype.delete),
  mapForEach: uncurry(Map.prototype.forEach),
  mapClear: uncurry(Map.prototype.clear),
  WeakMapClass: WeakMap,
  weakGet: uncurry(WeakMap.prototype.get),
  weakSet: uncurry(WeakMap.prototype.set),
  ProxyClass: Proxy,
  functionText: uncurry(Function.prototype.toString),
  errorText: uncurry(Error.prototype.toString),
  then: uncurry(Promise.prototype.then),
  bytesFrom: Buffer.from,
  bytesNew: Buffer.allocUnsafeSlow,
  byteLength: Buffer.byteLength,
  bytesText: uncurry(Buffer.prototype.toString),
  bytesPart: uncurry(Buffer.prototype.subarray),
  bytesWrite: uncurry(Buffer.prototype.write),
  bytesSet: uncurry(Uint8Array.prototype.set),
  inspect: util.inspect,
  types: Object.assign({ __proto__: null }, util.types),
};
