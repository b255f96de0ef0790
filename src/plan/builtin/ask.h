/* The schemas that a plan passes to ask(), which describe the answer. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "plan/builtin/builtin.h"
#include "plan/value/ask_type.h"

/*
 * Convert the schema that a plan passed to ask() to JSON Schema. A schema is one of these:
 * - a type, such as str; None stands for str
 * - a format, such as "email"
 * - a list whose elements have one type, such as [str]
 * - a choice, such as enum("a", "b") or ["a", "b"]
 * - a dict of fields, such as {"name": str}.
 * *most is set to the largest kind (see label/label.h) that an answer can have. For a choice, for
 * example, this is KIND_ENUM. If the answer is a list, *most is the largest kind of a single
 * element. If the answer is a dict, *most is KIND_TEXT.
 * Returns: 0, or -1 with the failure set.
 */
int ask_schema(struct vm *vm, struct val schema, struct val *out, struct kind *most);

/* Check whether @answer fits @schema, which ask_schema() accepted. Returns: 1 if the answer
 * fits; 0 if it does not; -1 with the failure set. */
int ask_fits(struct vm *vm, struct val schema, struct val answer);
