// SPDX-License-Identifier: Apache-2.0
'use strict';

/*
 * The standard input of a step: an anonymous file with descriptor 0. JavaScript cannot receive descriptors
 * over the channel, so the text is a part of the STEP frame.
 */
const genuine = require('./genuine.js');
const fs = require('fs');

const { closeSync, openSync, unlinkSync, writeSync, ReadStream } = fs;
const { process } = globalThis;
const NAME = '/tmp/.retort-stdin-' + process.pid;

// Open @path. Returns: whether its descriptor is 0, the lowest number.
function openLowest(path) {
  try {
    closeSync(0);
  } catch (error) {
    // User code has closed descriptor 0.
  }
  const fd = openSync(path, 'r');
  if (fd !== 0) closeSync(fd);
  return fd === 0;
}

function store(text) {
  const bytes = genuine.bytesFrom(text, 'utf8');
  const fd = openSync(NAME, 'wx', 0o600);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
  } finally {
    closeSync(fd);
  }
}

const stdin = {
  __proto__: null,
  isOwn: false, // whether the last step had standard input

  /* Set the standard input to @text. If @text is null, the standard input is empty. */
  give(text) {
    try {
      if (text !== null) store(text);
      openLowest(text === null ? '/dev/null' : NAME);
    } finally {
      if (text !== null) unlinkSync(NAME);
    }
    let stream = null;
    genuine.define(process, 'stdin', {
      __proto__: null,
      configurable: true,
      enumerable: true,
      get() {
        if (stream === null) stream = new ReadStream(null, { fd: 0, autoClose: false });
        return stream;
      },
    });
    stdin.isOwn = text !== null;
  },
};

module.exports = stdin;
