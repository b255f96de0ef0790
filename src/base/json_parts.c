/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_parts.h"

#include <stdbool.h>

size_t json_parts(const char *data, size_t bytes)
{
	size_t n = 0;
	bool in_string = false;
	for (size_t i = 0; i < bytes; i++) {
		char c = data[i];
		/* Skip the character after a backslash, and after "\u" the four digits. If the
		 * digits are missing, the text is not JSON, and the count does not matter. */
		if (in_string && c == '\\')
			i += i + 1 < bytes && data[i + 1] == 'u' ? 5 : 1;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == ',' || c == '[' || c == '{';
	}
	return n;
}
