// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * Rewrite a step's source to the script that V8 evaluates. V8's REPL mode handles top-level await, repeated
 * declarations and the value. But it accepts only scripts. So three forms that only modules or files may
 * contain are rewritten. Line numbers stay the same.
 *
 *   import a, {b as c} from 'm'   const {default: a, b: c} = await __retort_import__('m', …)
 *   import('m'), import.meta      __retort_import__('m'), __retort_import__.meta
 *   export const x = 1            const x = 1
 */
const genuine = require('./genuine.js');
const { slice, indexOf, push, join, codeAt, startsWith } = genuine;

const IMPORT = '__retort_import__';
const WORD = /[\p{ID_Start}\p{ID_Continue}$_#\\\u200c\u200d]+/uy;
const SPACE = /(?:\s|\/\/.*|\/\*[^]*?\*\/)+/y;
const STRING = /"(?:[^"\\\n\r]|\\(?:\r\n|[^]))*"|'(?:[^'\\\n\r]|\\(?:\r\n|[^]))*'/y;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;
const REGEX = /\/(?:[^/\\[\n\r]|\\.|\[(?:[^\]\\\n\r]|\\.)*\])+\/[\p{ID_Continue}$]*/uy;
const NUMBER = /\.?\d(?:[eE][+-]|[\w.])*/y;
const OPERATOR = /=>|\?\.(?!\d)|\+\+|--|\.\.\./y;

const set = (text) => {
  const out = { __proto__: null };
  const words = text.split(' ');
  for (let i = 0; i < words.length; i++) out[words[i]] = true;
  return out;
};
// After these tokens an expression begins, so a slash starts a regular expression.
const BEFORE_EXPRESSION = set('return typeof instanceof in of new delete void throw case do else ' +
  'yield await default extends');
const BEFORE_PARENS = set('if while for with');
const BEFORE_BLOCK = set('else do try finally =>');

// Return the text that @pattern matches at @at, or ''.
function match(pattern, source, at) {
  pattern.lastIndex = at;
  const found = genuine.exec(pattern, source);
  return found === null ? '' : found[0];
}

/*
 * Split a source into tokens {kind, text, start, end, depth, newline}. next() returns null at the end, or
 * where the source is not valid JavaScript. As in most scanners, the preceding token decides whether a slash
 * divides or starts a regular expression.
 */
class Scanner {
  constructor(source) {
    this.source = source;
    this.at = startsWith(source, '#!') ? (indexOf(source, '\n') + 1 || source.length) : 0;
    this.stack = []; // open brackets: {text, isBlock}
    this.last = null;
    this.divides = false; // whether a slash at this place would divide
  }

  next() {
    const { source } = this;
    const space = match(SPACE, source, this.at);
    const start = this.at + space.length;
    if (start >= source.length) return null;
    const depth = this.stack.length;
    const [kind, text] = this.read(start);
    if (text === '') return null;
    this.at = start + text.length;
    const newline = indexOf(space, '\n') >= 0;
    this.last = { kind, text, start, end: this.at, depth, newline };
    return this.last;
  }

  read(at) {
    const { source } = this;
    const char = source[at];
    if (char === '"' || char === "'") return this.operand('string', match(STRING, source, at));
    if (char === '`') return this.template(at, 1);
    let text = match(NUMBER, source, at);
    if (text !== '') return this.operand('number', text);
    text = match(WORD, source, at);
    if (text !== '') return this.word(text);
    if (char === '/' && !this.divides) return this.operand('regex', match(REGEX, source, at));
    if (char === '}' && this.isOpen('${')) {
      this.stack.length--;
      return this.template(at, 1);
    }
    text = match(OPERATOR, source, at) || char;
    return this.punctuator(text);
  }

  isOpen(text) {
    return this.stack.length > 0 && this.stack[this.stack.length - 1].text === text;
  }

  operand(kind, text) {
    this.divides = true;
    return [kind, text];
  }

  word(text) {
    const isMember = this.last !== null && (this.last.text === '.' || this.last.text === '?.');
    this.divides = isMember || BEFORE_EXPRESSION[text] !== true;
    return [isMember ? 'member' : 'word', text];
  }

  template(at, skip) {
    const rest = match(TEMPLATE, this.source, at + skip);
    if (rest === '') return ['template', ''];
    const isHole = rest[rest.length - 1] === '{';
    if (isHole) push(this.stack, { text: '${', isBlock: false });
    this.divides = !isHole;
    return ['template', slice(this.source, at, at + skip + rest.length)];
  }

  punctuator(text) {
    const { last } = this;
    if (text === '(' || text === '[' || text === '{') {
      push(this.stack, { text, isBlock: this.opensBlock(text) });
      this.divides = false;
    } else if (text === ')' || text === ']' || text === '}') {
      const open = this.stack.length ? this.stack[this.stack.length - 1] : null;
      if (open !== null) this.stack.length--;
      this.divides = open === null || !open.isBlock;
    } else if (text !== '++' && text !== '--') this.divides = false;
    else if (last === null || last.newline) this.divides = false;
    return ['punctuator', text];
  }

  // Return whether the bracket @text opens a block, or the head of a statement such as if. After the closing
  // bracket of these, a slash starts a regular expression. After other closing brackets, it divides.
  opensBlock(text) {
    const { last } = this;
    if (text === '[') return false;
    if (text === '(') return last !== null && last.kind === 'word' && BEFORE_PARENS[last.text];
    if (last === null || BEFORE_BLOCK[last.text]) return true;
    if (last.kind === 'word') return !BEFORE_EXPRESSION[last.text];
    return last.kind === 'member' || last.text === ')' || last.text === ';' || last.text === '{' ||
      last.text === '}';
  }
}

// Return the line breaks of @text. They replace it, so that line numbers after it stay the same.
function breaks(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) if (text[i] === '\n') out += '\n';
  return out;
}

class Rewriter {
  constructor(source) {
    this.source = source;
    this.scanner = new Scanner(source);
    this.edits = [];
    this.calls = []; // calls import(…) whose parenthesis is still open
    this.pending = undefined;
  }

  next() {
    const token = this.pending === undefined ? this.scanner.next() : this.pending;
    this.pending = undefined;
    return token;
  }

  peek() {
    if (this.pending === undefined) this.pending = this.scanner.next();
    return this.pending;
  }

  edit(start, end, text) {
    push(this.edits, { start, end, text });
  }

  run() {
    for (let token = this.next(); token !== null; token = this.next()) {
      if (token.kind === 'word' && token.text === 'import') this.seeImport(token);
      else if (token.kind === 'word' && token.text === 'export' && token.depth === 0)
        this.seeExport(token);
      else if (token.text === ')' && token.kind === 'punctuator') this.closeCall(token);
    }
    return this.apply();
  }

  seeImport(token) {
    const after = this.peek();
    if (after === null) return;
    if (after.text === '(') push(this.calls, { token, depth: after.depth });
    else if (after.text === '.') this.edit(token.start, token.end, IMPORT);
    else if (token.depth === 0) this.declaration(token);
  }

  // Rewrite import(…), unless a body follows on the same line: then `import` is the name of a method.
  closeCall(token) {
    const { calls } = this;
    if (!calls.length || calls[calls.length - 1].depth !== token.depth - 1) return;
    const { token: name } = calls[calls.length - 1];
    calls.length--;
    const after = this.peek();
    if (after === null || after.text !== '{' || after.newline)
      this.edit(name.start, name.end, IMPORT);
  }

  /* Rewrite an import declaration: import … from 'm' with {…}. */
  declaration(token) {
    const clause = [];
    let part = this.next();
    while (part !== null && part.kind !== 'string') {
      push(clause, part);
      part = this.next();
    }
    if (part === null) return;
    const from = part.text;
    let end = part.end;
    const [attributes, last] = this.attributes();
    if (last) end = last;
    const names = this.bindings(clause);
    if (names === null) return;
    if (this.peek() !== null && this.peek().text === ';') end = this.next().end;
    const wanted = names.wanted.length ? ', [' + join(names.wanted, ', ') + ']' : '';
    const call = 'await ' + IMPORT + '(' + from + ', ' + attributes + wanted + ');';
    const lines = breaks(slice(this.source, token.start, end));
    this.edit(token.start, end, names.before + call + names.after + lines);
  }

  attributes() {
    const word = this.peek();
    if (word === null || (word.text !== 'with' && word.text !== 'assert')) return ['undefined', 0];
    if (word.text === 'assert' && word.newline) return ['undefined', 0];
    this.next();
    const open = this.next();
    let part = open;
    while (part !== null && part.text !== '}') part = this.next();
    if (open === null || part === null) return ['undefined', 0];
    const text = slice(this.source, open.start, part.end);
    return ['{' + word.text + ':' + join(genuine.split(text, '\n'), ' ') + '}', part.end];
  }

  // Parse the tokens between `import` and the module's name. Returns: the declarations before and after the
  // call and the names that the module must export; or null.
  bindings(clause) {
    const out = { before: '', after: '', wanted: [] };
    const pairs = [];
    let space = '';
    let n = clause.length;
    if (n === 0) return out;
    if (clause[n - 1].text !== 'from') return null;
    n--;
    let i = 0;
    if (clause[0].kind === 'word') {
      push(pairs, 'default: ' + clause[0].text);
      push(out.wanted, '"default"');
      i = clause[1].text === ',' ? 2 : n === 1 ? 1 : -1; // "import type {…}" is TypeScript and is not rewritten
    }
    if (i >= 0 && i < n && clause[i].text === '*') {
      space = i + 2 < clause.length ? clause[i + 2].text : '';
      i = n;
    } else if (i >= 0 && i < n && clause[i].text === '{') i = this.named(clause, i + 1, pairs, out.wanted);
    if (i !== n) return null;
    if (space !== '') {
      out.before = 'const ' + space + ' = ';
      if (pairs.length) out.after = ' const {' + join(pairs, ', ') + '} = ' + space + ';';
    } else out.before = 'const {' + join(pairs, ', ') + '} = ';
    return out;
  }

  named(clause, at, pairs, wanted) {
    let i = at;
    while (i < clause.length && clause[i].text !== '}') {
      const name = clause[i];
      const isRenamed = i + 2 < clause.length && clause[i + 1].text === 'as';
      const local = isRenamed ? clause[i + 2] : name;
      if (name.kind !== 'word' && name.kind !== 'string') return -1;
      push(pairs, name.text + ': ' + local.text);
      push(wanted, name.kind === 'string' ? name.text : '"' + name.text + '"');
      i += isRenamed ? 3 : 1;
      if (i < clause.length && clause[i].text === ',') i++;
      else if (i < clause.length && clause[i].text !== '}') return -1;
    }
    return i + 1;
  }

  seeExport(token) {
    const after = this.peek();
    if (after === null) return;
    if (after.text === 'default') this.exportDefault(token);
    else if (after.text === '{' || after.text === '*') this.exportList(token);
    else this.edit(token.start, after.start, breaks(slice(this.source, token.start, after.start)));
  }

  exportDefault(token) {
    let end = this.next().end;
    const lines = breaks(slice(this.source, token.start, end));
    let part = this.peek();
    const rest = this.source;
    const named = /^(?:async\s+)?(?:function\s*\*?|class)\s+(?!extends\b)[\p{ID_Start}$_]/u;
    if (part !== null) end = part.start;
    part = part !== null && genuine.exec(named, slice(rest, part.start, part.start + 1000));
    this.edit(token.start, end, lines + (part ? '' : 'const __retort_default__ = '));
  }

  exportList(token) {
    let part = this.next();
    let end = token.end;
    while (part !== null && part.text !== '}' && part.text !== 'from') {
      end = part.end;
      part = this.next();
    }
    if (part === null) return;
    let call = '';
    end = part.end;
    if (part.text === 'from' || (this.peek() !== null && this.peek().text === 'from')) {
      if (part.text !== 'from') this.next();
      const from = this.next();
      if (from === null || from.kind !== 'string') return;
      const [attributes, last] = this.attributes();
      end = last || from.end;
      call = 'await ' + IMPORT + '(' + from.text + ', ' + attributes + ');';
    }
    this.edit(token.start, end, call + breaks(slice(this.source, token.start, end)));
  }

  apply() {
    const { source, edits } = this;
    genuine.sort(edits, (a, b) => a.start - b.start);
    const parts = [];
    let at = 0;
    for (let i = 0; i < edits.length; i++) {
      push(parts, slice(source, at, edits[i].start), edits[i].text);
      at = edits[i].end;
    }
    push(parts, slice(source, at));
    return join(parts, '');
  }
}

// Return the source as a script with the same lines.
function toScript(source) {
  const text = codeAt(source, 0) === 0xfeff ? slice(source, 1) : source;
  if (indexOf(text, 'import') < 0 && indexOf(text, 'export') < 0) return text;
  return new Rewriter(text).run();
}

// Lines that declare something with a type. If a node cannot run TypeScript, they are used to recognize it for
// the error message.
const TYPED = new RegExp('^\\s*(?:export\\s+)?(?:default\\s+|declare\\s+|async\\s+)*(?:' + [
  '(?:const|let|var)\\s+[\\w$]+\\s*:',
  '(?:const|let|var)\\s+[\\w$]+\\s*=\\s*(?:async\\s*)?\\([\\w$\\s,]*[\\w$]\\??\\s*:.*=>',
  'interface\\s+[\\w$]',
  '(?:const\\s+)?enum\\s+[\\w$]+\\s*\\{',
  'type\\s+[\\w$]+\\s*[<=]',
  'abstract\\s+class\\s',
  '(?:namespace|module)\\s+[\\w$]+\\s*\\{',
  'import\\s+type\\s',
  '.*\\([\\w$]+\\??\\s*:\\s*[\\w$<>[\\]|. ]+[,)].*=>',
  'function\\s*[\\w$]*\\s*<',
  'function\\s*[\\w$]*\\s*\\([\\w$\\s,]*[\\w$]\\??\\s*:',
  'function\\s*[\\w$]*\\s*\\([^(){}]*\\)\\s*:'].join('|') + ')');

// Return whether a line that does not compile as JavaScript is probably TypeScript.
function isTyped(line) {
  return genuine.exec(TYPED, line) !== null;
}

function canStrip() {
  return typeof require('module').stripTypeScriptTypes === 'function';
}

// Remove TypeScript types. If possible, each remaining character keeps its position.
function stripTypes(source) {
  const { stripTypeScriptTypes: strip } = require('module');
  if (!canStrip()) {
    const error = new SyntaxError('node ' + process.versions.node + ' of this host cannot strip ' +
      'types: install node 22.13 or newer, or run the JavaScript');
    error.stack = 'SyntaxError: ' + error.message;
    throw error;
  }
  const { emitWarning } = process;
  process.emitWarning = () => {}; // suppress the warning that this function of node is experimental
  try {
    return strip(source, { mode: 'strip' });
  } catch (error) {
    if (error.code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error;
    return strip(source, { mode: 'transform' });
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = { __proto__: null, IMPORT, Scanner, canStrip, isTyped, stripTypes, toScript };
