/* Schemas of ask(), as a plan writes them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/value/ask_type.h"

/*
 * A schema as JSON Schema, and how much an answer can say at most; of a list: each element of it.
 * Shape:   a type; "email"; [type]; enum("a", "b") or ["a", "b"]; {"name": type}.
 * Returns: 0, or -1 with the failure set.
 */
int ask_schema(struct vm *vm, struct val schema, struct val *out, struct kind *most);

/* Is @answer what @schema asks for? @schema was read by ask_schema(). Returns: 1, 0, or -1. */
int ask_fits(struct vm *vm, struct val schema, struct val answer);
