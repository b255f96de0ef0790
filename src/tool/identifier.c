/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/identifier.h"

#include "base/attr.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Reserved words. A space before and after each word lets strstr() find whole words only. */
static const char *const reserved[] = {
	[IDENTIFIER_PYTHON] =
		" False None True and as assert async await break class continue def del elif else "
		"except finally for from global if import in is lambda nonlocal not or pass raise "
		"return try while with yield ",
	[IDENTIFIER_JAVASCRIPT] =
		" arguments await break case catch class const continue debugger default delete do "
		"else enum eval export extends false finally for function if implements import in "
		"instanceof interface let new null package private protected public return static "
		"super switch this throw true try typeof var void while with yield ",
};

void identifier_make(
	enum identifier_language language, const char *name, char out[IDENTIFIER_BYTES])
{
	char word[IDENTIFIER_BYTES + 2];
	size_t n = 0;
	if (!*name || isdigit((unsigned char)*name))
		out[n++] = '_';
	for (; *name && n < IDENTIFIER_BYTES - 8; name++)
		out[n++] = (char)((*name >= 0 && isalnum((unsigned char)*name)) ? *name : '_');
	out[n] = '\0';
	snprintf(word, sizeof word, " %s ", out);
	if (strstr(reserved[language], word))
		(void)strcpy(out + n, "_");
}

bool identifier_snake(const char *name, char out[IDENTIFIER_BYTES])
{
	size_t n = 0;
	bool is_other = false;
	for (size_t i = 0; name[i] && n < IDENTIFIER_BYTES - 2; i++) {
		bool is_upper = name[i] >= 'A' && name[i] <= 'Z';
		bool begins = is_upper && i > 0 && name[i - 1] != '_' &&
			(islower((unsigned char)name[i - 1]) ||
				isdigit((unsigned char)name[i - 1]) ||
				(name[i + 1] && islower((unsigned char)name[i + 1])));
		if (begins)
			out[n++] = '_';
		is_other |= is_upper;
		out[n++] = is_upper ? (char)(name[i] | 0x20) : name[i];
	}
	out[n] = '\0';
	return is_other;
}
