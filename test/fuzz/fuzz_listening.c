/* The table of a box's sockets: every row found is a port and an address, and a row more changes
 * nothing about those before it. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "session/port/listening.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64 };

static void check_rows(const struct listening *v, size_t n, bool is_v6)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char address[16];
		MUST(v[i].port > 0);
		MUST(memchr(v[i].address, '\0', sizeof v[i].address));
		MUST(inet_pton(is_v6 ? AF_INET6 : AF_INET, v[i].address, address) == 1);
	}
}

/* The first byte says which table it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char row[] = "   0: 0100007F:1F90 00000000:0000 0A \n";
	struct listening v[ROWS_MAX + 1], more[ROWS_MAX + 1];
	if (bytes == 0)
		return 0;
	bool is_v6 = data[0] == '6';
	char *text = malloc(bytes + sizeof row);
	memcpy(text, data + 1, bytes - 1);
	size_t n = listening_parse(text, bytes - 1, is_v6, v, ROWS_MAX);
	MUST(n <= ROWS_MAX);
	check_rows(v, n, is_v6);
	(void)listening_has(v, n, 80);
	memcpy(text + bytes - 1, row, sizeof row);
	bool is_line = bytes == 1 || text[bytes - 2] == '\n';
	size_t n_more =
		listening_parse(text, bytes - 1 + sizeof row - 1, is_v6, more, ROWS_MAX + 1);
	if (is_line)
		MUST(n_more == n + !is_v6 || n == ROWS_MAX);
	for (size_t i = 0; i < n; i++)
		MUST(more[i].port == v[i].port && strcmp(more[i].address, v[i].address) == 0);
	free(text);
	return 0;
}
