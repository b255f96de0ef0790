/* The setting of a step: environment variables for this step only, and the scope, which is the set
 * of global variables that the step uses. It is a JSON object, which has the same members in the
 * parameters of `step.run`, in a step's record and in the driver's STEP frame:
 *
 *   env          object of texts: variables that are set while the step runs
 *   scope        name of the scope; absent for the session's own
 *   fresh_scope  true: empty the scope before the code runs
 *   cwd          directory in which the scope begins, absolute or relative to the workspace
 *
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "runtime/runtime.h"

#include <jansson.h>

enum {
	STEP_VARIABLES_MAX = 256,
	STEP_VARIABLES_BYTES = 128 << 10, /* names and values of all variables */
	STEP_SCOPE_BYTES = 63,
	STEP_CWD_BYTES = 4095,
};

/* Copy the members of a setting from @from. Members of a wrong type are left out. Returns: NULL if
 * @from has no such member. Owns: the caller releases the object. */
json_t *step_setting_pick(const json_t *from);

/* Check that a step of @runtime can have the setting, which may be NULL. Errors: ERR_USAGE. */
int step_setting_check(
	const json_t *setting, const struct runtime *runtime, bool is_script, struct err *err);
