/* The tables of a box's sockets. SPDX-License-Identifier: Apache-2.0 */
#include "session/port/listening.h"

#include "t.h"

#include <stdio.h>
#include <string.h>

#define HEAD  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n"
#define REST  " 00000000:00000000 00:00000000 00000000  1000        0 12345 1\n"
#define NONE6 "00000000000000000000000000000000:0000"

static size_t parse(const char *text, bool is_v6, struct listening *out, size_t max)
{
	return listening_parse(text, strlen(text), is_v6, out, max);
}

TEST(listeners_and_nothing_else)
{
	struct listening v[8];
	CHECK_INT(parse(HEAD "   0: 0100007F:1F90 00000000:0000 0A" REST
			     "   1: 0100007F:1F91 0100007F:D431 01" REST
			     "  10: 00000000:0016 00000000:0000 0A" REST,
			  false, v, 8),
		2);
	CHECK_INT(v[0].port, 8080);
	CHECK_STR(v[0].address, "127.0.0.1");
	CHECK_INT(v[1].port, 22);
	CHECK_STR(v[1].address, "0.0.0.0");
}

TEST(listeners_of_ipv6)
{
	struct listening v[8];
	CHECK_INT(parse(HEAD "   0: 00000000000000000000000001000000:1F90 " NONE6 " 0A" REST
			     "   1: 00000000000000000000000000000000:FFFF " NONE6 " 0A" REST
			     "   2: 0000000000000000FFFF00000100007F:0001 " NONE6 " 0A" REST,
			  true, v, 8),
		3);
	CHECK_STR(v[0].address, "::1");
	CHECK_STR(v[1].address, "::");
	CHECK_INT(v[1].port, 65535);
	CHECK_STR(v[2].address, "::ffff:127.0.0.1");
}

TEST(rows_that_are_none)
{
	static const char *const texts[] = {"", "\n\n", HEAD, ":", "0:\n", "0: 0100007F\n",
		"0: 0100007F:1F9 00000000:0000 0A\n", "0: 0100007F:1F90 00000000:0000 0\n",
		"0: 0100007F:1F90 00000000:0000\n", "0: 0100007F-1F90 00000000:0000 0A\n",
		"0: 0100007f:1f90 00000000:0000 0A\n", "0: 0100007F:0000 00000000:0000 0A\n",
		"0: 0100007F:1F90 00000000:0000 0A", "0:0100007F:1F90 00000000:0000 0A\n",
		"0: " NONE6 " " NONE6 " 0A\n"};
	struct listening v[8];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		CHECK_INT(parse(texts[i], false, v, 8), 0);
}

TEST(no_more_than_there_is_room_for)
{
	static const char row[] = "   0: 0100007F:1F90 00000000:0000 0A" REST;
	char text[5 * sizeof row] = "";
	struct listening v[3] = {0};
	for (int i = 0; i < 5; i++)
		strcat(text, row);
	CHECK_INT(parse(text, false, v, 2), 2);
	CHECK_INT(v[2].port, 0);
}

TEST(what_a_port_leads_to)
{
	static const struct {
		const char *address;
		bool is_reached;
	} rows[] = {{"127.0.0.1", true}, {"0.0.0.0", true}, {"::1", true}, {"::", true},
		{"::ffff:127.0.0.1", true}, {"127.0.0.2", false}, {"10.0.0.1", false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct listening v = {.port = 80};
		snprintf(v.address, sizeof v.address, "%s", rows[i].address);
		CHECK_INT(listening_has(&v, 1, 80), rows[i].is_reached);
		CHECK(!listening_has(&v, 1, 81));
		CHECK(!listening_has(&v, 0, 80));
	}
}
