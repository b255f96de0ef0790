/* SPDX-License-Identifier: Apache-2.0 */
#include "api/observation.h"

#include <stdlib.h>

json_t *observation_make(const json_t *record)
{
	char *text = json_dumps(record, JSON_INDENT(1));
	json_t *out = json_pack("{s:s}", "text", text ? text : "");
	free(text);
	return out;
}
