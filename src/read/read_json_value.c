/* SPDX-License-Identifier: MIT */
/* read_json_value.c: the values that the members of a JSON profile are made of. */
#include <string.h>

#include "read/read_json_private.h"
#include "read/unescape.h"

bool json_no_memory(struct json_file *f)
{
	f->scan.no_memory = true;
	return scan_fail(&f->scan, "no memory");
}

bool json_append_id(struct json_file *f, struct ids *ids, uint32_t id)
{
	uint32_t *item = id == PROFILE_NONE ? NULL : ids_append(ids);
	if (!item)
		return json_no_memory(f);
	*item = id;
	return true;
}

/* An index into what was read before, as the profile's id. */
bool json_get_id(struct json_file *f, const struct ids *ids, const char *wrong, uint32_t *id_ret)
{
	uint64_t index;
	if (!scan_number(&f->scan, UINT64_MAX, &index))
		return false;
	if (index >= ids->count)
		return scan_fail(&f->scan, wrong);
	*id_ret = ids->items[index];
	return true;
}

bool json_get_id_or_null(struct json_file *f, const struct ids *ids, const char *wrong,
			 uint32_t *id_ret)
{
	bool null;
	*id_ret = PROFILE_NONE;
	return scan_null(&f->scan, &null) && (null || json_get_id(f, ids, wrong, id_ret));
}

/* A text of the target, null or a string; @text_ret is NULL or what is in @buf. */
bool json_get_text(struct json_file *f, struct strbuf *buf, const char **text_ret)
{
	bool null;
	*text_ret = NULL;
	if (!scan_null(&f->scan, &null))
		return false;
	if (null)
		return true;
	if (!scan_string(&f->scan, &f->raw))
		return false;
	strbuf_reset(buf);
	strbuf_add(buf, "", 0);
	unescape_add(buf, f->raw.text, f->raw.length);
	if (buf->failed)
		return json_no_memory(f);
	*text_ret = buf->text;
	return true;
}

bool json_key_is(const struct json_file *f, const char *name)
{
	return !strcmp(f->key.text, name);
}

bool json_next_member(struct json_file *f, bool *first)
{
	return scan_more(&f->scan, first, '}') && scan_key(&f->scan, &f->key);
}

bool json_next_item(struct json_file *f, bool *first)
{
	return scan_more(&f->scan, first, ']');
}
