// SPDX-License-Identifier: Apache-2.0
'use strict';

/* Frames to and from the engine; see docs/protocol.md. */
const genuine = require('./genuine.js');
const fs = require('fs');

const FRAME_MAX = 32 << 20;

const { writeSync, fstatSync } = fs;
const wait = Atomics.wait;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

const channel = { __proto__: null, fd: 3, ino: 0, socket: null, inbox: null, send, takeFrame,
  addBytes };

// Is the descriptor still what it was? User code may have closed it and opened another.
function isChannel() {
  try {
    return fstatSync(channel.fd).ino === channel.ino;
  } catch (error) {
    return false;
  }
}

// Send a frame whole. Returns: whether it could be sent.
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

// The first whole frame of the inbox as {kind, message}, or null; throws when it is none.
function takeFrame() {
  const bytes = channel.inbox;
  if (bytes === null || bytes.length < 5) return null;
  const length = bytes[0] * 0x1000000 + (bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
  if (length < 1 || length > FRAME_MAX) throw new genuine.Error('not a frame');
  if (bytes.length < length + 4) return null;
  const payload = genuine.bytesText(genuine.bytesPart(bytes, 5, length + 4), 'utf8');
  channel.inbox = bytes.length === length + 4 ? null : genuine.bytesPart(bytes, length + 4);
  return { kind: bytes[4], message: payload === '' ? {} : genuine.parse(payload) };
}

function addBytes(bytes) {
  const old = channel.inbox;
  if (old === null) channel.inbox = bytes;
  else {
    const whole = genuine.bytesNew(old.length + bytes.length);
    for (let i = 0; i < old.length; i++) whole[i] = old[i];
    for (let i = 0; i < bytes.length; i++) whole[old.length + i] = bytes[i];
    channel.inbox = whole;
  }
}

module.exports = channel;
