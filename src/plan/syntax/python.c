/* Report constructs of Python that do not exist in the language of plans, such as try or class.
 * Each report suggests a rewrite. SPDX-License-Identifier: Apache-2.0 */
#include "plan/syntax/inside.h"

#include <stdio.h>
#include <string.h>

static const struct rewrite {
	enum token_kind kind;
	int code;
	const char *msg;
	const char *hint;
} rewrites[] = {
	{TOK_TRY, P_TRY, "try/except is not in the language",
		"r = try_call(tool, a=1), then test r.ok and read r.value or r.error"},
	{TOK_EXCEPT, P_TRY, "except is not in the language",
		"r = try_call(tool, a=1), then test r.ok and read r.value or r.error"},
	{TOK_FINALLY, P_TRY, "finally is not in the language",
		"write what must happen behind the call: r = try_call(tool, a=1) goes on"},
	{TOK_RAISE, P_RAISE, "raise is not in the language",
		"fail(\"what is wrong\") stops the plan"},
	{TOK_ASSERT, P_ASSERT, "assert is not in the language",
		"if not condition: fail(\"what is wrong\")"},
	{TOK_CLASS, P_CLASS, "classes are not in the language",
		"use a dict or struct(a=1, b=2) for data, functions for what is done with it"},
	{TOK_WITH, P_WITH, "with is not in the language",
		"call the functions one after the other: there is nothing to close"},
	{TOK_YIELD, P_GENERATOR, "generators are not in the language",
		"collect in a list and return it"},
	{TOK_ASYNC, P_ASYNC, "async is not in the language",
		"call the tool: the plan waits for its result"},
	{TOK_AWAIT, P_ASYNC, "await is not in the language",
		"leave it out: a call of a tool waits for its result"},
	{TOK_DEL, P_DEL, "del is not in the language",
		"d.pop(key) or list.pop(i); a name need not be deleted"},
	{TOK_GLOBAL, P_GLOBAL, "global is not in the language",
		"return the value and assign it outside, or change a list or dict"},
	{TOK_NONLOCAL, P_GLOBAL, "nonlocal is not in the language",
		"return the value and assign it outside, or change a list or dict"},
	{TOK_IMPORT, P_NO_IMPORT, "import is not in this dialect",
		"use load(\"module\", \"name\")"},
	{TOK_FROM, P_NO_IMPORT, "import is not in this dialect", "use load(\"module\", \"name\")"},
	{TOK_WHILE, P_WHILE, "while loops are not in this dialect",
		"for i in range(1000): and break when it is done"},
	{TOK_AT, P_DECORATOR, "decorators are not in the language",
		"call the function on the other: f = decorate(f)"},
	{TOK_WALRUS, P_WALRUS, ":= is not in the language", "assign on a line of its own, before"},
	{TOK_IS, P_IS, "is is not in this dialect", "use == or !="},
	{TOK_ELLIPSIS, P_ELLIPSIS, "... is not in the language", "write pass, or None"},
	{TOK_STARSTAR, P_POWER, "** is not in this dialect", "multiply: x * x, or shift: 1 << n"},
	{TOK_STARSTAR_EQ, P_POWER, "**= is not in this dialect", "multiply: x = x * x"},
	{TOK_ARROW, P_ANNOTATION, "annotations are not in this dialect", "leave it out"},
	{TOK_FSTRING, P_PYTHON, "f-strings are not in this dialect", "use \"…%s…\" % value"},
	{TOK_AS, P_AS, "as is not in the language", "assign: name = value"},
};

static const struct rewrite *rewrite_of(enum token_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(rewrites); i++)
		if (rewrites[i].kind == kind)
			return &rewrites[i];
	return NULL;
}

int fail_token(struct parser *p, int code, const char *msg, const char *hint)
{
	(void)lex_fail(&p->lex, code, p->token.start, p->token.end, "%s", msg);
	return hint[0] ? lex_hint(&p->lex, "%s", hint) : -1;
}

int fail_at(struct parser *p, int code, const struct node *node, const char *msg, const char *hint)
{
	(void)lex_fail(&p->lex, code, node->start, node->end, "%s", msg);
	return hint[0] ? lex_hint(&p->lex, "%s", hint) : -1;
}

/* Report a word that begins a statement in Python but is an ordinary name here, as in `match x:` or
 * `print x`. Returns: 0; -1 if it was reported. */
static int python_words(struct parser *p, const char *want)
{
	static const struct {
		const char *word, *msg, *hint;
		int code;
	} words[] = {
		{"match", "match is not in the language", "use if, elif and else", P_MATCH},
		{"print", "print is a function", "write print(value)", P_PRINT},
		{"exec", "exec is not in the language", "write the code in the plan", P_EXEC},
		{"type", "type aliases are not in the language", "leave it out", P_ANNOTATION},
	};
	uint32_t end = p->last_end, start = end;
	while (start > 0 &&
		((p->src->text[start - 1] | 0x20) >= 'a' &&
			(p->src->text[start - 1] | 0x20) <= 'z'))
		start--;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (end - start == strlen(words[i].word) &&
			memcmp(p->src->text + start, words[i].word, end - start) == 0 && want &&
			strcmp(want, "newline") == 0) {
			(void)lex_fail(
				&p->lex, words[i].code, start, p->token.end, "%s", words[i].msg);
			return lex_hint(&p->lex, "%s", words[i].hint);
		}
	return 0;
}

int python_construct(struct parser *p)
{
	const struct rewrite *r = rewrite_of(p->token.kind);
	return r ? fail_token(p, r->code, r->msg, r->hint) : -1;
}

int unexpected(struct parser *p, const char *want)
{
	const struct rewrite *r = rewrite_of(p->token.kind);
	bool is_on = (p->token.kind == TOK_IS && p->dialect.is_operator) ||
		(p->token.kind == TOK_STARSTAR && p->dialect.power);
	if (r && !is_on)
		return python_construct(p);
	if (python_words(p, want) < 0)
		return -1;
	const char *got = token_text(p->token.kind);
	bool is_kind = p->token.kind <= TOK_FSTRING;
	if (token_is_reserved(p->token.kind) && !is_on) {
		(void)lex_fail(&p->lex, P_EXPECTED, p->token.start, p->token.end,
			"'%s' is a reserved word", got);
		return lex_hint(&p->lex, "choose another name");
	}
	char text[64];
	snprintf(text, sizeof text, is_kind ? "%s" : "'%s'", got);
	(void)lex_fail(&p->lex, P_EXPECTED, p->token.start, p->token.end,
		want ? "got %s, want %s" : "got %s%s", text, want ? want : "");
	if (token_is_keyword(p->token.kind) && want && strstr(want, "identifier"))
		return lex_hint(&p->lex, "%s is a keyword: choose another name", got);
	if (is_at(p, TOK_ASSIGN))
		return lex_hint(&p->lex, "to compare, write ==");
	return -1;
}
