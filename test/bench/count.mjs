// Tokens of texts: an array of texts on stdin, {"o200k_base": [N, …], "cl100k_base": [N, …]} on stdout.
// SPDX-License-Identifier: Apache-2.0
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import { readFileSync } from "node:fs";

const texts = JSON.parse(readFileSync(0, "utf8"));
const count = (ranks) => {
  const coder = new Tiktoken(ranks);
  // Lines apart: the coder's time grows with the square of a long text without blanks.
  return texts.map((text) => coder.encode(text, [], []).length);
};
process.stdout.write(JSON.stringify({ o200k_base: count(o200k), cl100k_base: count(cl100k) }));
