// Tokens of a text on stdin, by the encodings of js-tiktoken: {"o200k_base": N, "cl100k_base": N}.
// SPDX-License-Identifier: Apache-2.0
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import { readFileSync } from "node:fs";

const text = readFileSync(0, "utf8");
const count = (ranks) => new Tiktoken(ranks).encode(text).length;
process.stdout.write(JSON.stringify({ o200k_base: count(o200k), cl100k_base: count(cl100k) }));
