// SPDX-License-Identifier: Apache-2.0
'use strict';

/* Frames to and from the engine. docs/reference/protocol.md describes them. */
const genuine = require('./genuine.js');
const fs = require('fs');

const FRAME_MAX = 32 << 20;

const { writeSync, fstatSync } = fs;
const wait = Atomics.wait;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

const channel = { __proto__: null, fd: 3, ino: 0, socket: null, parts: [], n_bytes: 0, send, takeFrame,
  hasFrame, addBytes };

// Return whether the descriptor is still the channel. User code may have closed it and opened something else.
function isChannel() {
  try {
    return fstatSync(channel.fd).ino === channel.ino;
  } catch (error) {
    return false;
  }
}

// Send a whole frame. Returns: whether that succeeded.
function send(kind, text) {
  const bytes = genuine.byteLength(text);
  if (bytes >= FRAME_MAX || !isChannel()) return false;
  const frame = genuine.bytesNew(bytes + 5);
  const length = bytes + 1;
  frame[0] = length >>> 24;
  frame[1] = length >>> 16;
  frame[2] = length >>> 8;
  frame[3] = length;
  frame[4] = kind;
  genuine.bytesWrite(frame, text, 5, bytes, 'utf8');
  for (let at = 0; at < frame.length;) {
    try {
      at += writeSync(channel.fd, frame, at, frame.length - at);
    } catch (error) {
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') return false;
      wait(sleeper, 0, 0, 1);
    }
  }
  return true;
}

/*
 * Join the pieces that have arrived if the first @bytes of them are wanted. Returns: one piece with all bytes,
 * or null if fewer than @bytes have arrived. Data is kept in pieces because a large frame arrives in hundreds
 * of them.
 */
function gather(bytes) {
  const { parts } = channel;
  if (parts.length > 1) {
    const whole = genuine.bytesNew(channel.n_bytes);
    for (let i = 0, at = 0; i < parts.length; at += parts[i++].length) genuine.bytesSet(whole, parts[i], at);
    parts.length = 0;
    genuine.push(parts, whole);
  }
  return bytes <= channel.n_bytes ? parts[0] : null;
}

/* Return the length field of the first frame, or -1 if it has not arrived yet. Throws for an invalid frame. */
function frameBytes() {
  if (channel.n_bytes < 5) return -1;
  const head = channel.parts[0].length >= 4 ? channel.parts[0] : gather(5);
  const length = head[0] * 0x1000000 + (head[1] << 16 | head[2] << 8 | head[3]);
  if (length < 1 || length > FRAME_MAX) throw new genuine.Error('not a frame');
  return length;
}

function hasFrame() {
  const length = frameBytes();
  return length > 0 && channel.n_bytes >= length + 4;
}

/* Take the first frame that has arrived. Returns: {kind, text}, or null. */
function takeFrame() {
  if (!hasFrame()) return null;
  const length = frameBytes();
  const bytes = gather(length + 4);
  const text = genuine.bytesText(genuine.bytesPart(bytes, 5, length + 4), 'utf8');
  const kind = bytes[4];
  channel.n_bytes -= length + 4;
  channel.parts[0] = genuine.bytesPart(bytes, length + 4);
  if (channel.n_bytes === 0) channel.parts.length = 0;
  return { __proto__: null, kind, text };
}

function addBytes(bytes) {
  if (bytes.length === 0) return;
  genuine.push(channel.parts, bytes);
  channel.n_bytes += bytes.length;
}

module.exports = channel;
