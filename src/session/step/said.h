/* What records say again and again. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sandbox/limits.h"

#include <jansson.h>
#include <stdint.h>

/* Limits as records say them, and what that was made of. */
struct record_limits {
	struct limits limits;
	uint32_t by[LIMIT_END_];
	json_t *json;
	char *text; /* the same */
};
