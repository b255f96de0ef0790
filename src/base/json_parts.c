/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_parts.h"

#include <stdbool.h>

size_t json_parts(const char *data, size_t bytes)
{
	size_t n = 0;
	bool in_string = false;
	for (size_t i = 0; i < bytes; i++) {
		char c = data[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == ',' || c == '[' || c == '{';
	}
	return n;
}
