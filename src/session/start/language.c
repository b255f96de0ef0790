/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/language.h"

#include "runtime/runtime.h"

const char *language_names(void)
{
	return runtime_names();
}

const char *language_by_word(const char *word)
{
	const struct runtime *runtime = runtime_by_name(word);
	return runtime ? runtime->name : NULL;
}

int language_of_file(
	const char *filename, const char *code, size_t bytes, const char **out, struct err *err)
{
	const struct runtime *runtime = NULL;
	int r = runtime_guess(filename, code, bytes, &runtime, err);
	if (r < 0 && runtime_is_data(filename))
		return err_hint(err, "it is data for a program to read: `file.write` copies it in");
	*out = runtime ? runtime->name : NULL;
	return r;
}
