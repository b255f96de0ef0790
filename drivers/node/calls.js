// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * Calls from the program to the engine: the driver sends TOOL frames, and TOOL_RESULT frames resolve promises.
 * This file is loaded at the first call. User code may have changed builtins by then, so the driver passes in
 * everything that the file needs.
 *
 * @host has these functions: step() returns the running step or null. listen() makes frames arrive through the
 * event loop. hold(wanted) keeps the process alive to wait for frames. complain(text) writes to stderr.
 */
module.exports = function make(genuine, channel, rich, host) {
  const { push, slice } = genuine;
  const TOOL = 20;
  const OUTSTANDING_MAX = 64;
  // The engine accepts 16 MiB of arguments in all waiting calls, and a character has up to three bytes.
  const WAITING_CHARS_MAX = 5 << 20;
  const ARGUMENTS_BYTES_MAX = 4 << 20;
  const OVER = 'the step ended before the answer came';

  class RetortError extends genuine.Error {}

  /*
   * The failure of a tool. `tool` is the name of the tool, `name` is the kind of failure. `hint` says what to
   * do; it is undefined if nothing is known.
   */
  class ToolError extends RetortError {
    constructor(message, tool, hint) {
      super(hint ? message + ': ' + hint : message);
      this.tool = tool;
      if (hint) this.hint = hint;
    }
  }
  class ToolDenied extends ToolError {}
  class ToolArgumentError extends ToolError {}
  class ToolLost extends ToolError {}
  class ToolLimit extends ToolError {}
  const errors = { __proto__: null, RetortError, ToolError, ToolDenied, ToolArgumentError, ToolLost, ToolLimit };
  const kinds = genuine.keys(errors);
  for (let i = 0; i < kinds.length; i++)
    genuine.define(errors[kinds[i]].prototype, 'name', { value: kinds[i], writable: true, configurable: true });

  const waiting = new genuine.MapClass(); // call number → call that was sent
  let outstanding = 0;
  let chars = 0; // total length of the arguments of the waiting calls
  let queue = []; // calls that have not been sent yet
  let last = 0;

  // ---- sending ----------------------------------------------------------------------------------

  function send(call) {
    const step = host.step();
    if (step === null) return call.reject(new ToolLost(OVER, call.name));
    last++;
    const text = '{"id":' + rich.quote(step.id) + ',"call":' + last + ',"name":' + rich.quote(call.name) +
      ',"arguments":' + call.text + '}';
    if (!channel.send(TOOL, text)) return call.reject(new ToolLost('the engine cannot be reached', call.name));
    genuine.mapSet(waiting, last, call);
    outstanding++;
    chars += call.text.length;
    host.hold(true);
    return undefined;
  }

  function hasRoom(call) {
    return outstanding === 0 || (outstanding < OUTSTANDING_MAX && chars + call.text.length <= WAITING_CHARS_MAX);
  }

  /*
   * Return the name of the argument that has no JSON form, such as "arguments.limit", for an error message.
   * Return "arguments" if each member of the object has a JSON form by itself.
   */
  function place(value) {
    if (value === null || typeof value !== 'object') return 'arguments';
    const names = genuine.keys(value);
    for (let i = 0; i < names.length; i++) {
      const own = genuine.describe(value, names[i]);
      if (own.value !== undefined && rich.jsonOrNull({ v: own.value }, 4 * ARGUMENTS_BYTES_MAX) === null)
        return 'arguments.' + names[i];
    }
    return 'arguments';
  }

  function encode(name, value) {
    const text = rich.jsonOrNull(value, 4 * ARGUMENTS_BYTES_MAX);
    if (text === null) {
      throw new ToolArgumentError(name + ': ' + place(value) + ': not JSON: give text, finite numbers, booleans, ' +
        'null, arrays, plain objects', name);
    }
    const bytes = genuine.byteLength(text);
    if (bytes > ARGUMENTS_BYTES_MAX) {
      throw new ToolLimit(name + ': the arguments have ' + bytes + ' bytes: the limit is ' + ARGUMENTS_BYTES_MAX, name);
    }
    return text;
  }

  /*
   * Make a call. Returns: a promise of its value. @site is an error that was created where the program made
   * the call. If the call fails, its error gets the stack of @site. @job.outer is the promise that the
   * program was given for the call.
   */
  function request(name, value, site, job) {
    return new genuine.Promise((resolve, reject) => {
      if (host.step() === null) throw new RetortError(name + ': tools can only be called while a step runs');
      const call = { __proto__: null, name, text: encode(name, value), resolve, reject, site, job };
      host.listen();
      if (queue.length === 0 && hasRoom(call)) send(call);
      else push(queue, call);
    });
  }

  // ---- answers ------------------------------------------------------------------------------------

  function told(call, name, message, hint) {
    const Kind = name !== 'RetortError' && errors[name] || ToolError;
    const error = new Kind(message, call.name, hint);
    if (Kind === ToolError) error.name = name;
    const stack = call.site === null ? undefined : call.site.stack;
    const at = typeof stack === 'string' ? genuine.indexOf(stack, '\n    at ') : -1;
    if (at >= 0) error.stack = error.name + ': ' + error.message + slice(stack, at);
    return error;
  }

  function settle(call, answer) {
    const error = answer.error;
    if (genuine.has(answer, 'value')) call.resolve(showImages(answer.value));
    else if (error !== null && typeof error === 'object' && typeof error.message === 'string') {
      call.reject(told(call, typeof error.name === 'string' ? error.name : 'ToolError', error.message,
        typeof error.hint === 'string' ? error.hint : undefined));
    } else call.reject(told(call, 'ToolLost', 'the answer is neither a value nor an error'));
  }

  /* Handle a TOOL_RESULT frame. It is ignored if its call is unknown or has ended. */
  function take(text) {
    const head = genuine.exec(/^\{ ?"call": ?(\d{1,15})[,}]/, slice(text, 0, 40));
    let answer = null;
    let number = head === null ? 0 : +head[1];
    try {
      answer = genuine.parse(text);
      number = answer !== null && typeof answer === 'object' && typeof answer.call === 'number' ? answer.call : 0;
    } catch (failure) {
      answer = { error: { name: 'ToolLost', message: 'the answer cannot be read' } };
    }
    const call = genuine.mapGet(waiting, number);
    if (call === undefined) return;
    genuine.mapDelete(waiting, number);
    outstanding--;
    chars -= call.text.length;
    settle(call, answer);
    while (queue.length > 0 && hasRoom(queue[0])) send(genuine.shift(queue));
    host.hold(outstanding > 0);
  }

  /*
   * Reject all unanswered calls at the end of a step. The program has probably forgotten to await them, so a
   * message on stderr says so.
   */
  function endStep() {
    const left = queue;
    genuine.mapForEach(waiting, (call) => push(left, call));
    genuine.mapClear(waiting);
    queue = [];
    outstanding = 0;
    chars = 0;
    if (left.length === 0) return;
    host.hold(false);
    for (let i = 0; i < left.length; i++) {
      if (left[i].job.outer) genuine.then(left[i].job.outer, undefined, () => {});
      left[i].reject(told(left[i], 'ToolLost', OVER));
    }
    host.complain('retort: ' + left[0].name + (left.length > 1 ? ' and ' + (left.length - 1) + ' more' : '') +
      ': no answer when the step ended: await the promise\n');
  }

  // ---- values -------------------------------------------------------------------------------------

  /* An image that a tool has returned. The image is shown when it is displayed or is a step's value. */
  class Image {
    constructor(data, mime) {
      this.data = data;
      this.mime = mime;
    }

    save(path) {
      require('fs').writeFileSync(path, this.data);
      return path;
    }

    [Symbol.for('Jupyter.display')]() {
      const isText = this.mime === 'image/svg+xml';
      return { [this.mime]: isText ? genuine.bytesText(this.data, 'utf8') : this.data };
    }

    [genuine.inspect.custom]() {
      return '<Image ' + this.mime + ', ' + this.data.length + ' bytes>';
    }
  }

  /* A result of a tool that has several parts. It is displayed as its first image. */
  class Content {
    constructor(value) {
      this.text = value.text;
      this.images = value.images;
      this.links = value.links;
    }

    [Symbol.for('Jupyter.display')]() {
      const first = genuine.isArray(this.images) ? this.images[0] : undefined;
      return first instanceof Image ? first[Symbol.for('Jupyter.display')]() : {};
    }
  }

  function asImage(value) {
    const member = (name) => genuine.has(value, name) ? value[name] : undefined;
    const isBlock = member('type') === 'image';
    const mime = member(isBlock ? 'mimeType' : 'mime_type');
    const data = member('data');
    if (!isBlock && genuine.keys(value).length !== 2) return null;
    if (typeof mime !== 'string' || typeof data !== 'string') return null;
    if (genuine.exec(/^image\/[!-~]{1,94}$/, mime) === null) return null;
    if (genuine.exec(/^[A-Za-z0-9+/\s]*={0,2}\s*$/, data) === null) return null;
    return new Image(genuine.bytesFrom(data, 'base64'), mime);
  }

  /*
   * Replace the objects that describe images by Image objects, in place. Returns: the value. There is no
   * recursion, so that a deeply nested value does not exhaust the stack.
   */
  function showImages(value) {
    const top = [value];
    const left = [[top, 0]];
    while (left.length > 0) {
      const [owner, key] = left[left.length - 1];
      left.length--;
      let item = owner[key];
      if (item === null || typeof item !== 'object') continue;
      const image = genuine.isArray(item) ? null : asImage(item);
      const names = genuine.isArray(item) ? null : genuine.keys(item);
      if (image !== null) {
        put(owner, key, image);
        continue;
      }
      if (names !== null && names.length === 3 && genuine.has(item, 'text') && genuine.has(item, 'images') &&
        genuine.has(item, 'links')) {
        item = new Content(item);
        put(owner, key, item);
      }
      const n = names === null ? item.length : names.length;
      for (let i = 0; i < n; i++) push(left, [item, names === null ? i : names[i]]);
    }
    return top[0];
  }

  function put(owner, key, value) {
    genuine.define(owner, key, { value, writable: true, enumerable: true, configurable: true });
  }

  return { __proto__: null, errors, Image, take, endStep, request };
};
