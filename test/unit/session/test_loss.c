/* What is said of losses. SPDX-License-Identifier: Apache-2.0 */
#include "session/box/loss.h"

#include "t.h"

#include <string.h>

static void say_all(char out[LOSS_BYTES])
{
	json_t *said = json_pack("{s:{s:i, s:i, s:i}, s:i, s:i, s:i, s:I, s:I}", "closed",
		"sockets", 1000000, "pipes", 1000000, "others", 1000000, "locks", 1000000, "unread",
		1000000, "astray", 1000000, "unkept", (json_int_t)1 << 50, "gone",
		(json_int_t)1 << 50);
	struct loss loss;
	loss_parse(&loss, said);
	json_decref(said);
	loss.n_processes = 1000000;
	loss_say(out, &loss);
}

TEST(all_losses_together_are_said)
{
	static const char *const parts[] = {"closed: 1000000 sockets", "1000000 ends of pipes",
		"1000000 other descriptors", "not copied: 1000000 processes",
		"not put back: ", "; gone: ", "unread datagrams of 1000000", "1000000 locks",
		"open, but gone: 1000000 files"};
	char out[LOSS_BYTES];
	say_all(out);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		CHECK_HAS(out, parts[i]);
}

TEST(losses_are_added)
{
	struct loss loss = {.n_sockets = 1, .n_locks = 2, .n_unread = 1, .bytes = 1 << 20};
	const struct loss more = {.n_sockets = 2,
		.n_pipes = 1,
		.n_others = 1,
		.n_locks = 1,
		.n_unread = 1,
		.n_astray = 1,
		.n_processes = 1,
		.bytes = 1 << 20,
		.gone_bytes = 1 << 20};
	char out[LOSS_BYTES];
	loss_add(&loss, &more);
	loss_say(out, &loss);
	CHECK_STR(out,
		"closed: 3 sockets, 1 end of a pipe, 1 other descriptor; not copied: 1 process; not "
		"put back: 2.0 MiB of shared memory; gone: 1.0 MiB written to private mappings of "
		"files; not copied: unread datagrams of 2 sockets; not held any more: 3 locks of "
		"files; open, but gone: 1 file");
}

TEST(the_loss_of_a_text_follows)
{
	const struct loss_text loss = {
		.n_omitted = 1000000, .n_descriptors = 1000000, .is_homeless = true};
	char out[LOSS_BYTES];
	say_all(out);
	loss_add_text(out, "javascript", &loss);
	CHECK_HAS(out, "closed: 1000000 sockets");
	CHECK_HAS(out,
		"; not kept of the javascript: 1000000 large variables, 1000000 open descriptors, its "
		"directory, which was gone");
}
