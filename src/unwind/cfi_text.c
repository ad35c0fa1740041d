/* SPDX-License-Identifier: MIT */
/* cfi_text.c: rows as text. */
#include "unwind/cfi_text.h"

static void add_register(const struct arch *arch, unsigned reg, struct strbuf *text)
{
	const char *name = arch->register_name(reg);
	if (name)
		strbuf_adds(text, name);
	else
		strbuf_addf(text, "r%u", reg);
}

static void add_sum(const struct arch *arch, unsigned reg, int32_t offset, struct strbuf *text)
{
	add_register(arch, reg, text);
	if (offset)
		strbuf_addf(text, "%+d", offset);
}

static void add_expression(const struct cfi_table *table, int32_t number, struct strbuf *text)
{
	size_t size = 0;
	const uint8_t *bytes = cfi_table_expression(table, number, &size);
	strbuf_adds(text, "expr(");
	for (size_t i = 0; i < size; i++)
		strbuf_addf(text, "%s%02x", i ? " " : "", bytes[i]);
	strbuf_addc(text, ')');
}

static void add_cfa(const struct cfi_table *table, const struct cfi_row *row, struct strbuf *text)
{
	const struct arch *arch = cfi_table_arch(table);
	strbuf_adds(text, "cfa=");
	switch ((enum cfi_cfa_kind)row->cfa_kind) {
	case CFI_CFA_REGISTER:
		add_sum(arch, row->cfa_register, row->cfa_offset, text);
		break;
	case CFI_CFA_DEREF:
		strbuf_addc(text, '[');
		add_sum(arch, row->cfa_register, row->cfa_offset, text);
		strbuf_addc(text, ']');
		if (row->cfa_bias)
			strbuf_addf(text, "%+d", row->cfa_bias);
		break;
	case CFI_CFA_PLT:
		add_sum(arch, row->cfa_register, row->cfa_offset, text);
		strbuf_addf(text, "+(pc%%16>=%d?8:0)", row->cfa_bias);
		break;
	case CFI_CFA_EXPRESSION:
		add_expression(table, row->cfa_offset, text);
		break;
	case CFI_CFA_UNDEFINED:
	case CFI_CFA_KINDS_:
		strbuf_addc(text, '?');
		break;
	}
}

static void add_cfa_sum(int32_t offset, struct strbuf *text)
{
	strbuf_adds(text, "cfa");
	if (offset)
		strbuf_addf(text, "%+d", offset);
}

static void add_rule(const struct cfi_table *table, const struct cfi_rule *rule,
		     struct strbuf *text)
{
	const struct arch *arch = cfi_table_arch(table);
	strbuf_addc(text, ' ');
	add_register(arch, rule->reg, text);
	strbuf_addc(text, '=');
	switch ((enum cfi_rule_kind)rule->kind) {
	case CFI_RULE_SAME:
		strbuf_adds(text, "same");
		break;
	case CFI_RULE_AT_CFA:
		strbuf_addc(text, '[');
		add_cfa_sum(rule->offset, text);
		strbuf_addc(text, ']');
		break;
	case CFI_RULE_AT_REGISTER:
		strbuf_addc(text, '[');
		add_sum(arch, rule->base, rule->offset, text);
		strbuf_addc(text, ']');
		break;
	case CFI_RULE_CFA:
		add_cfa_sum(rule->offset, text);
		break;
	case CFI_RULE_REGISTER:
		add_sum(arch, rule->base, rule->offset, text);
		break;
	case CFI_RULE_AT_EXPRESSION:
		strbuf_addc(text, '[');
		add_expression(table, rule->offset, text);
		strbuf_addc(text, ']');
		break;
	case CFI_RULE_VALUE_EXPRESSION:
		add_expression(table, rule->offset, text);
		break;
	case CFI_RULE_UNDEFINED:
	case CFI_RULE_KINDS_:
		strbuf_addc(text, '?');
		break;
	}
}

void cfi_text_row(const struct cfi_table *table, const struct cfi_row *row, struct strbuf *text)
{
	add_cfa(table, row, text);
	for (uint32_t i = 0; i < row->rule_count; i++)
		add_rule(table, &row->rules[i], text);
	if (row->flags & CFI_ROW_SIGNAL_FRAME)
		strbuf_adds(text, " signal");
	if (row->flags & CFI_ROW_OUTERMOST)
		strbuf_adds(text, " outermost");
	if (row->flags & CFI_ROW_RA_SIGNED)
		strbuf_adds(text, row->flags & CFI_ROW_KEY_B ? " signed-b" : " signed");
}
