/* Schemas of ask(), as a plan writes them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/value/ask_type.h"

/*
 * Convert a schema to JSON Schema. *most is the upper bound of the answer's kind; for a list, of
 * each element's kind. Shape:   a type; "email"; [type]; enum("a", "b") or ["a", "b"]; {"name":
 * type}. Returns: 0, or -1 with the failure set.
 */
int ask_schema(struct vm *vm, struct val schema, struct val *out, struct kind *most);

/* Does @answer fit @schema, which ask_schema() accepted? Returns: 1, 0, or -1. */
int ask_fits(struct vm *vm, struct val schema, struct val answer);
