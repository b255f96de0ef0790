/* Methods of strings that are in other files than their table. SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "plan/builtin/builtin.h"

/* The type of a method, see function.h. */
#define METHOD(name)                                                                               \
	int name(struct vm *vm, struct val self, const struct val *arg attr_unused, struct val *out)

METHOD(s_upper);
METHOD(s_lower);
METHOD(s_capitalize);
METHOD(s_title);
METHOD(s_swapcase);
METHOD(s_isalnum);
METHOD(s_isalpha);
METHOD(s_isdigit);
METHOD(s_isspace);
METHOD(s_isupper);
METHOD(s_islower);
METHOD(s_istitle);
METHOD(s_strip);
METHOD(s_lstrip);
METHOD(s_rstrip);
METHOD(s_split);
METHOD(s_rsplit);
METHOD(s_splitlines);
METHOD(s_partition);
METHOD(s_rpartition);
METHOD(s_replace);
METHOD(s_join);

/* One character at *at, which goes behind it. */
int32_t char_next(const struct str *s, size_t *at);

/* Lower case of Latin, Greek and Cyrillic; other scripts stay as they are. */
int32_t char_lower(int32_t c);

/* White space as Unicode has it. */
bool char_is_space(int32_t c);
