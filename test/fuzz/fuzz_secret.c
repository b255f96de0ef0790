/* Secrets, one a line, as a place, a name and a value: a place is written and read again as the
 * same, and no message holds a byte of a value that is wrong. SPDX-License-Identifier: Apache-2.0
 */
#include "fuzz.h"

#include "gateway/rule/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_message(const struct err *err)
{
	MUST(err->code == ERR_USAGE && err->msg[0] && err->hint[0]);
	for (const char *s = err->msg; *s; s++)
		MUST(*s >= ' ' && *s <= '~');
	MUST(strcmp(err->hint, err->msg) != 0);
}

static void check_place(const char *text)
{
	struct err err = {0};
	struct secret s = {0}, again = {0};
	char written[SECRET_PLACE_BYTES], name[RULE_HOST_BYTES];
	char prefix[SECRET_PREFIX_BYTES], none[SECRET_PREFIX_BYTES];
	char placeholder[SECRET_PLACEHOLDER_BYTES];
	if (secret_read_place(&s, prefix, text, &err) < 0) {
		check_message(&err);
		MUST(s.host[0] == '\0' && s.port == 0);
		return;
	}
	MUST(s.port > 0 && s.places <= (SECRET_IN_QUERY | SECRET_IN_BODY));
	MUST(rule_name(name, s.host, strlen(s.host)) && strcmp(name, s.host) == 0);
	secret_write_place(&s, written);
	MUST(strlen(written) + 1 < SECRET_PLACE_BYTES);
	MUST(secret_read_place(&again, none, written, &err) == 0);
	MUST(strcmp(again.host, s.host) == 0 && again.port == s.port && again.places == s.places);
	MUST(none[0] == '\0');
	(void)snprintf(placeholder, sizeof placeholder, "%s%s", prefix,
		"0123456789abcdefghijklmnopqrstuz");
	MUST(secret_is_placeholder(placeholder));
}

static void check_value(const char *text, size_t bytes)
{
	struct err err = {0};
	bool is_good = bytes >= SECRET_VALUE_MIN && bytes <= SECRET_VALUE_MAX;
	for (size_t i = 0; i < bytes; i++)
		is_good = is_good && text[i] >= ' ' && text[i] <= '~';
	int n = secret_check_value("KEY", text, bytes, &err);
	MUST((n == 0) == is_good);
	if (n < 0)
		check_message(&err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes), *rest = text, *line;
	struct err err = {0};
	check_value(text, bytes);
	while ((line = strsep(&rest, "\n"))) {
		check_place(line);
		check_value(line, strlen(line));
		if (secret_check_name(line, &err) < 0)
			check_message(&err);
		else
			MUST(strlen(line) < SECRET_NAME_BYTES && !strchr(line, '='));
		MUST(!secret_is_placeholder(line) || strlen(line) >= SECRET_RANDOM_BYTES);
	}
	free(text);
	return 0;
}
