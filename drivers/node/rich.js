// SPDX-License-Identifier: Apache-2.0
'use strict';

// The MIME bundle of a value or display. It always has a text, and any other formats that the value offers.

const genuine = require('./genuine.js');
const { slice, indexOf, push, join, has, describe, types } = genuine;

const NODES_MAX = 120000;
const DEPTH_MAX = 64;
const INTEGER_END = 2 ** 63;
const MARKER_CHARS = 64;
const MIMES_MAX = 24;
const ANSWER = 'application/vnd.retort.answer+json';
const DISPLAY = Symbol.for('Jupyter.display');
const METHODS = [
  ['toHTML', 'text/html'],
  ['toMarkdown', 'text/markdown'],
  ['toSVG', 'image/svg+xml'],
  ['toPNG', 'image/png'],
  ['toJPEG', 'image/jpeg'],
  ['toLaTeX', 'text/latex'],
];
const MIME = /^[!-~]{1,128}$/;
const BINARY = /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/;
const JSON_TYPE = /^application\/([^;]*\+)?json$/;
const LONE = /\\ud[89a-f]/;

// Return @text as a JSON string. A lone surrogate becomes U+FFFD.
function quote(text) {
  const quoted = genuine.stringify(text);
  if (genuine.exec(LONE, quoted) === null) return quoted;
  return genuine.stringify(genuine.bytesText(genuine.bytesFrom(text, 'utf8'), 'utf8'));
}

// Cut @text to about @limit bytes of UTF-8. Keep its start and its end, with a note about the rest between
// them.
function cut(text, limit) {
  let keep = limit;
  if (text.length <= limit + MARKER_CHARS) {
    const bytes = text.length * 3 <= limit ? 0 : genuine.byteLength(text);
    if (bytes <= limit + MARKER_CHARS) return text;
    keep = (text.length * limit / bytes) | 0;
  } else {
    const sample = slice(text, 0, limit >> 1) + slice(text, text.length - (limit >> 1));
    keep = (sample.length * limit / (genuine.byteLength(sample) || 1)) | 0;
  }
  const head = keep >> 1;
  const tail = keep - head;
  return slice(text, 0, head) + '\n[... ' + (text.length - keep) + ' characters cut ...]\n' +
    (tail ? slice(text, text.length - tail) : '');
}

// ---- JSON -------------------------------------------------------------------------------------

// This is thrown for a value without a JSON form. It is not an Error, because creating one would run the
// program's Error.prepareStackTrace.
const NOT_JSON = { __proto__: null };

function spend(budget, chars) {
  budget.nodes -= 1;
  budget.chars -= chars;
  if (budget.nodes < 0 || budget.chars < 0) throw NOT_JSON;
}

function arrayJson(value, budget, depth) {
  const parts = [];
  const n = value.length;
  if (n > budget.nodes) throw NOT_JSON;
  for (let i = 0; i < n; i++) {
    const own = describe(value, i);
    if (own === undefined || !has(own, 'value')) throw NOT_JSON;
    push(parts, json(own.value, budget, depth + 1));
  }
  return '[' + join(parts, ',') + ']';
}

function objectJson(value, budget, depth) {
  const names = genuine.ownKeys(value);
  const parts = [];
  for (let i = 0; i < names.length; i++) {
    const own = describe(value, names[i]);
    if (typeof names[i] !== 'string' || !has(own, 'value')) throw NOT_JSON;
    if (!own.enumerable || own.value === undefined) continue;
    spend(budget, names[i].length + 3);
    const name = genuine.stringify(names[i]);
    // Lone surrogates become U+FFFD, so two such keys could become equal.
    if (genuine.exec(LONE, name) !== null) throw NOT_JSON;
    push(parts, name + ':' + json(own.value, budget, depth + 1));
  }
  return '{' + join(parts, ',') + '}';
}

// Return a number as JSON. A number beyond 64 bits is not written as an integer, because few JSON readers
// accept it.
function numberJson(value) {
  const isLarge = value >= INTEGER_END || value <= -INTEGER_END;
  const text = '' + (value === 0 ? 0 : value); // -0 becomes 0
  return isLarge && indexOf(text, 'e') < 0 ? text + '.0' : text;
}

// Return the JSON of a plain value, or throw NOT_JSON. No user code runs: a value with getters, a proxy and an
// object with a prototype of its own do not count as plain.
function json(value, budget, depth) {
  if (depth > DEPTH_MAX) throw NOT_JSON;
  if (value === null) spend(budget, 4);
  else if (typeof value === 'boolean') spend(budget, 5);
  else if (typeof value === 'number') {
    spend(budget, 8);
    if (!genuine.isFinite(value)) throw NOT_JSON;
  } else if (typeof value === 'string') {
    spend(budget, value.length + 2);
    return quote(value);
  } else if (typeof value !== 'object' || types.isProxy(value)) throw NOT_JSON;
  else {
    spend(budget, 2);
    const proto = genuine.getPrototypeOf(value);
    if (genuine.isArray(value) && proto === genuine.ArrayPrototype)
      return arrayJson(value, budget, depth);
    if (proto === null || proto === genuine.ObjectPrototype)
      return objectJson(value, budget, depth);
    throw NOT_JSON;
  }
  return typeof value === 'number' ? numberJson(value) : '' + value;
}

// Return the JSON of a plain value, or null. If @left is given, it holds the number of JSON values that the
// formats of the bundle may still contain together.
function jsonOrNull(value, limit, left) {
  const budget = { __proto__: null, nodes: left ? left.nodes : NODES_MAX, chars: limit };
  try {
    const found = json(value, budget, 0);
    if (left) left.nodes = budget.nodes;
    return found;
  } catch (error) {
    return null; // the value is not plain, or too large
  }
}

function newLeft() {
  return { __proto__: null, nodes: NODES_MAX, unshown: 0 };
}

// ---- bundles ----------------------------------------------------------------------------------

function textOf(value, limit) {
  let text;
  try {
    text = genuine.inspect(value);
  } catch (error) {
    text = '<a value that cannot be inspected>';
  }
  return cut(typeof text === 'string' ? text : '<a value that cannot be inspected>', limit);
}

// Return the value of one MIME type as JSON text, or null when it cannot be used.
function mimeJson(mime, value, limit, left) {
  if (genuine.exec(JSON_TYPE, mime) !== null) return jsonOrNull(value, limit, left);
  let text = value;
  if (types.isUint8Array(value)) {
    const { buffer, byteOffset, byteLength } = value;
    text = genuine.bytesText(genuine.bytesFrom(buffer, byteOffset, byteLength),
      genuine.exec(BINARY, mime) !== null ? 'base64' : 'utf8');
  }
  if (typeof text !== 'string') return null;
  return text.length <= limit ? quote(text) : null;
}

function addRaw(out, raw, limit, left) {
  if (raw === null || typeof raw !== 'object') return;
  const names = genuine.keys(raw);
  for (let i = 0; i < names.length && i < MIMES_MAX; i++) {
    const value = raw[names[i]];
    const found = genuine.exec(MIME, names[i]) && mimeJson(names[i], value, limit, left);
    if (found) out[names[i]] = found;
    else if (value !== null && value !== undefined) left.unshown++;
  }
  if (names.length > MIMES_MAX) left.unshown += names.length - MIMES_MAX;
}

// Return @text with a note of how many formats are left out. @text is a JSON string or undefined.
function noted(text, left) {
  if (left.unshown === 0) return text;
  const note = '[' + left.unshown + (left.unshown === 1 ? ' type' : ' types') + ' not shown]"';
  return text === undefined ? '"' + note : slice(text, 0, -1) + '\\n' + note;
}

// Add the formats that the value's own methods offer. @settle returns the value of a promise that settles
// without waiting for events.
function addOwn(out, value, limit, settle, left) {
  if (types.isProxy(value)) return;
  try {
    if (typeof value[DISPLAY] === 'function') addRaw(out, settle(value[DISPLAY]()), limit, left);
  } catch (error) {
    // Ignore a method that throws.
  }
  for (let i = 0; i < METHODS.length; i++) {
    const mime = METHODS[i][1];
    try {
      if (out[mime] !== undefined || typeof value[METHODS[i][0]] !== 'function') continue;
      const found = mimeJson(mime, settle(value[METHODS[i][0]]()), limit, left);
      if (found) out[mime] = found;
    } catch (error) {
      // Ignore a method that throws.
    }
  }
}

function encode(out) {
  const names = genuine.keys(out);
  const parts = [];
  for (let i = 0; i < names.length; i++) push(parts, quote(names[i]) + ':' + out[names[i]]);
  return '{' + join(parts, ',') + '}';
}

// Collect the bundle of a value: an object that maps MIME types to JSON text.
function collect(value, limit, settle) {
  const out = { __proto__: null };
  const left = newLeft();
  if (value !== null && (typeof value === 'object' || typeof value === 'function'))
    addOwn(out, value, limit, settle, left);
  if (out['text/plain'] === undefined) out['text/plain'] = quote(textOf(value, limit));
  out['text/plain'] = noted(out['text/plain'], left);
  if (out['application/json'] === undefined) {
    const found = jsonOrNull(value, limit, left);
    if (found !== null) out['application/json'] = found;
  }
  return out;
}

function bundle(value, limit, settle) {
  return encode(collect(value, limit, settle));
}

// Return the bundle of a task's answer, with a MIME type that marks it as the answer.
function answer(value, limit, settle) {
  const out = collect(value, limit, settle);
  if (typeof value === 'string' && value.length <= limit / 4) out['text/plain'] = quote(value);
  if (typeof value === 'boolean') out['application/json'] = value ? 'true' : 'false';
  out[ANSWER] = '{"type":' + quote(value === null ? 'null' : typeof value) + '}';
  return encode(out);
}

// Return the bundle for an object {MIME type: data} that the user has given, as JSON text.
function bundleRaw(raw, limit) {
  const out = { __proto__: null };
  const left = newLeft();
  addRaw(out, raw, limit, left);
  if (left.unshown > 0) out['text/plain'] = noted(out['text/plain'], left);
  return encode(out);
}

module.exports = { __proto__: null, answer, bundle, bundleRaw, cut, jsonOrNull, quote };
