/* SPDX-License-Identifier: Apache-2.0 */
#include "net/message.h"

#include "t.h"

TEST(words_of_a_list)
{
	CHECK(message_list_has("keep-alive, Upgrade", "upgrade"));
	CHECK(message_list_has("a,b\tc", "c"));
	CHECK(!message_list_has("upgraded, xupgrade", "upgrade"));
	CHECK(!message_list_has("", "x"));
	CHECK(!message_list_has(NULL, "x"));
}

TEST(headers_of_one_connection)
{
	CHECK(message_is_hop("transfer-ENCODING", NULL));
	CHECK(message_is_hop("Connection", NULL));
	CHECK(message_is_hop("Content-Length", NULL));
	CHECK(message_is_hop("X-One", "close, x-one"));
	CHECK(!message_is_hop("X-One", "close"));
	CHECK(!message_is_hop("Authorization", NULL));
	CHECK(!message_is_hop("Upgrade", "Upgrade"));
}

TEST(lengths)
{
	CHECK_INT(message_length(NULL, NULL), 0);
	CHECK_INT(message_length("12", NULL), 12);
	CHECK_INT(message_length("12", "chunked"), -1);
	CHECK_INT(message_length("x", NULL), 0);
	CHECK_INT(message_answer_length("12", 200, "GET"), 12);
	CHECK_INT(message_answer_length("12", 200, "HEAD"), 12);
	CHECK_INT(message_answer_length(NULL, 200, "HEAD"), 0);
	CHECK_INT(message_answer_length(NULL, 200, "GET"), -1);
	CHECK_INT(message_answer_length(NULL, 204, "GET"), 0);
	CHECK_INT(message_answer_length(NULL, 304, "GET"), 0);
	CHECK_INT(message_answer_length("18446744073709551615", 200, "GET"), -1);
	CHECK_INT(message_answer_length("99999999999999999999", 200, "GET"), -1);
}
