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
	loss_say(out, &loss);
}

TEST(all_losses_together_are_said)
{
	static const char *const parts[] = {"closed: 1000000 sockets", "1000000 ends of pipes",
		"1000000 other descriptors",
		"not put back: ", "; gone: ", "unread datagrams of 1000000", "1000000 locks",
		"open, but gone: 1000000 files"};
	char out[LOSS_BYTES];
	say_all(out);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		CHECK_HAS(out, parts[i]);
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
