// SPDX-License-Identifier: Apache-2.0
'use strict';

// Describe errors: name, message, line, and a traceback with the user's frames and their source. Also change
// what the property `stack` of an error shows.

const genuine = require('./genuine.js');
const { cut } = require('./rich.js');
const { slice, indexOf, split, push, join, startsWith } = genuine;

const MESSAGE_BYTES = 10000;
const LINE_BYTES = 10000;
const LINES_MAX = 900;
const TRACEBACK_CHARS_MAX = 200000;
const COLLECTED_MAX = 10000; // lines of a traceback; in longer ones, the middle is cut
const SOURCE_CHARS_MAX = 300;
const CAUSES_MAX = 5;
const OTHERS_MAX = 10;

function get(object, name) {
  try {
    return object[name];
  } catch (error) {
    return undefined; // a getter threw
  }
}

function isError(value) {
  return value !== null && typeof value === 'object' &&
    (genuine.types.isNativeError(value) || typeof get(value, 'stack') === 'string');
}

function show(value) {
  try {
    return genuine.inspect(value);
  } catch (error) {
    return '<a value that cannot be inspected>';
  }
}

function nameOf(error) {
  const name = get(error, 'name');
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name;
  const maker = get(get(error, 'constructor') || {}, 'name');
  return typeof maker === 'string' && maker !== '' && maker !== 'Object' ? maker : 'Error';
}

function messageOf(error) {
  const message = get(error, 'message');
  return typeof message === 'string' ? message : message === undefined ? '' : show(message);
}

// Return whether a line of a stack is a frame of user code.
function isUsers(line) {
  return indexOf(line, '(node:') < 0 && indexOf(line, 'at node:') < 0 &&
    indexOf(line, 'at async node:') < 0 && indexOf(line, __dirname + '/') < 0 &&
    indexOf(line, '/node_modules/') < 0;
}

// Parse an error's stack. Returns: {head, frames, where}. @head is "Name: message", @frames are the lines with
// user frames, and @where are the source lines that node shows above the head.
function stackOf(error) {
  const stack = get(error, 'stack');
  const message = messageOf(error);
  const plain = nameOf(error) + (message === '' ? '' : ': ' + message);
  if (typeof stack !== 'string') return { head: plain, frames: [], where: '' };
  // The message may contain lines that look like frames.
  const known = message === '' ? -1 : indexOf(stack, message);
  const at = indexOf(stack, '\n    at ', known < 0 ? 0 : known + message.length);
  const head = at < 0 ? stack : slice(stack, 0, at);
  const lines = at < 0 ? [] : split(slice(stack, at + 1), '\n');
  const frames = [];
  for (let i = 0; i < lines.length; i++)
    if (startsWith(lines[i], '    at ') && isUsers(lines[i])) push(frames, lines[i]);
  const native = /^ {4}at .*\(<anonymous>\)$/; // "new Promise (<anonymous>)", with no user frame below
  while (frames.length && genuine.exec(native, frames[frames.length - 1]) !== null)
    frames.length--;
  // For a syntax error in a required file or a module, node shows the source line above the error's name.
  const own = genuine.types.isNativeError(error) ? indexOf(head, plain) : 0;
  if (own <= 0) return { head, frames, where: '' };
  const above = slice(head, 0, own);
  const isPlace = genuine.exec(/^(?:file:\/\/)?\/[^\n]+:\d+\n/, above) !== null;
  return { head: slice(head, own), frames, where: isPlace ? genuine.trimEnd(above) : '' };
}

// Return the innermost frame that is in the source of a step, as {name, line, column}, or null.
function placeOf(frames, sources) {
  const pattern = /(?:\(|at |at async )([^()]+):(\d+):(\d+)\)?$/;
  for (let i = 0; i < frames.length; i++) {
    const found = genuine.exec(pattern, frames[i]);
    if (found !== null && genuine.mapHas(sources, found[1]))
      return { name: found[1], line: +found[2], column: +found[3] };
  }
  return null;
}

// Return up to three lines: "file:3", the source line, and a line with a caret.
function codeFrame(place, sources) {
  const source = place && genuine.mapGet(sources, place.name);
  if (!source) return [];
  const line = split(source.code, '\n')[place.line - 1];
  if (line === undefined) return [];
  const out = [place.name + ':' + place.line];
  if (line.length > SOURCE_CHARS_MAX) return out;
  push(out, line);
  // If this line was rewritten before it ran, its columns differ from those of the user's source: show no
  // caret.
  if (split(source.text, '\n')[place.line - 1] === line && place.column > 0 &&
    place.column <= line.length + 1) {
    let indent = '';
    for (let i = 0; i < place.column - 1; i++) indent += line[i] === '\t' ? '\t' : ' ';
    push(out, indent + '^');
  }
  return out;
}

function pushLines(out, text) {
  const lines = split(text, '\n');
  for (let i = 0; i < lines.length; i++)
    if (out.length < COLLECTED_MAX) push(out, cut(lines[i], LINE_BYTES));
}

// Return how many lines fit in half of the limit, counting from @at in steps of @step (1 or -1).
function fitting(lines, at, step, max) {
  let left = TRACEBACK_CHARS_MAX / 2;
  let n = 0;
  for (; n < max && n < LINES_MAX / 2; n++, at += step) {
    left -= lines[at].length;
    if (left < 0) break;
  }
  return n;
}

// Limit a traceback to what the engine accepts: cut lines from the middle and leave a note.
function shorten(lines) {
  const head = fitting(lines, 0, 1, lines.length);
  const tail = fitting(lines, lines.length - 1, -1, lines.length - head);
  const gone = lines.length - head - tail;
  if (gone === 0) return lines;
  const out = [];
  for (let i = 0; i < head; i++) push(out, lines[i]);
  push(out, '[... ' + (lines.length < COLLECTED_MAX ? '' : 'more than ') + gone + ' lines cut ...]');
  for (let i = lines.length - tail; i < lines.length; i++) push(out, lines[i]);
  return out;
}

// Append the errors within an AggregateError.
function pushOthers(out, error, depth) {
  const others = get(error, 'errors');
  if (!genuine.isArray(others)) return;
  for (let i = 0; i < others.length && i < OTHERS_MAX; i++) pushNext(out, others[i], '[error]: ', depth);
}

function pushNext(out, error, prefix, depth) {
  if (depth > CAUSES_MAX || out.length >= COLLECTED_MAX) return;
  if (isError(error)) pushError(out, error, prefix, depth);
  else pushLines(out, prefix + cut(show(error), MESSAGE_BYTES));
}

function pushError(out, error, prefix, depth) {
  const { head, frames } = stackOf(error);
  pushLines(out, prefix + cut(head, MESSAGE_BYTES));
  for (let i = 0; i < frames.length && out.length < COLLECTED_MAX; i++)
    push(out, cut(frames[i], LINE_BYTES));
  pushOthers(out, error, depth + 1);
  const cause = get(error, 'cause');
  if (cause !== undefined) pushNext(out, cause, '[cause]: ', depth + 1);
}

// Describe a thrown value as {name, message, line, traceback}; line may be missing. @sources maps a name to
// {code, text}.
function describe(thrown, sources) {
  if (!isError(thrown)) {
    const text = cut(typeof thrown === 'string' ? thrown : show(thrown), MESSAGE_BYTES);
    const lines = [];
    pushLines(lines, 'Uncaught ' + text);
    return { __proto__: null, name: 'Uncaught', message: text, traceback: shorten(lines) };
  }
  const { frames, where } = stackOf(thrown);
  const place = placeOf(frames, sources);
  const lines = where === '' ? codeFrame(place, sources) : [];
  if (where !== '') pushLines(lines, cut(where, MESSAGE_BYTES));
  if (lines.length) push(lines, '');
  pushError(lines, thrown, '', 0);
  const out = { __proto__: null, name: cut(nameOf(thrown), 200) };
  out.message = cut(messageOf(thrown), MESSAGE_BYTES);
  if (place) out.line = place.line;
  out.traceback = shorten(lines);
  return out;
}

// Return @place, or the end of the last line that is not empty if @place is after the end of the source. V8
// reports such a place for a program that ends too early.
function withinSource(place, sources) {
  const { text } = genuine.mapGet(sources, place.name);
  const lines = split(text, '\n');
  if (place.line <= lines.length) return place;
  while (lines.length > 1 && genuine.trim(lines[lines.length - 1]) === '') lines.length--;
  return { name: place.name, line: lines.length, column: lines[lines.length - 1].length + 1 };
}

// Describe a compile error like describe(). @details come from the inspector, perhaps with a hint of the
// driver's.
function describeSyntax(details, name, sources) {
  const text = details.exception && details.exception.description || 'SyntaxError';
  const at = indexOf(text, '\n    at ');
  const head = (at < 0 ? text : slice(text, 0, at)) + (details.hint || '');
  const colon = indexOf(head, ': ');
  const place = withinSource(
    { name, line: details.lineNumber + 1, column: details.columnNumber + 1 }, sources);
  const lines = codeFrame(place, sources);
  if (lines.length) push(lines, '');
  pushLines(lines, cut(head, MESSAGE_BYTES));
  return {
    __proto__: null,
    name: cut(colon < 0 ? head : slice(head, 0, colon), 200),
    message: colon < 0 ? '' : cut(slice(head, colon + 2), MESSAGE_BYTES),
    line: place.line,
    traceback: shorten(lines),
  };
}

// Return the traceback as text for stderr.
function textOf(error) {
  return join(error.traceback, '\n') + '\n';
}

// ---- the property `stack` -----------------------------------------------------------------------

// Remove the driver's frames, and the frames of node below the program's outermost frame.
function withoutDriver(frames) {
  const out = [];
  let n = 0; // number of frames up to the program's outermost one
  for (let i = 0; i < frames.length; i++) {
    const file = frames[i].getFileName();
    const isFile = typeof file === 'string'; // otherwise it is a frame of V8 itself
    if (isFile && startsWith(file, __dirname + '/')) continue;
    push(out, frames[i]);
    if (isFile && !startsWith(file, 'node:')) n = out.length;
  }
  if (n > 0) out.length = n;
  return out;
}

// Write a stack as node 18 does. node has a function for that, but does not export it.
function writeStack(error, frames) {
  const symbols = genuine.symbols(error);
  let head = '';
  for (let i = 0; i < symbols.length; i++) {
    if (genuine.String(symbols[i]) === 'Symbol(kIsNodeError)')
      head = error.name + ' [' + error.code + ']: ' + error.message;
  }
  if (head === '') head = genuine.errorText(error);
  return frames.length === 0 ? head : head + '\n    at ' + join(frames, '\n    at ');
}

// Make the property `stack` of the program's errors leave out the driver's frames. @ErrorClass is the builtin
// Error of a global object.
function install(ErrorClass = genuine.Error) {
  const own = genuine.describe(genuine.Error, 'prepareStackTrace');
  const write = own !== undefined && typeof own.value === 'function' ? own.value : writeStack;
  const value = function prepareStackTrace(error, frames) {
    return genuine.apply(write, ErrorClass, [error, withoutDriver(frames)]);
  };
  genuine.define(ErrorClass, 'prepareStackTrace',
    { value, writable: true, enumerable: false, configurable: true });
}

module.exports = { __proto__: null, describe, describeSyntax, install, textOf };
