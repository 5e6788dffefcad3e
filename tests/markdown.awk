# markdown: what documents.awk and translations.awk both know of a text's paths and headings.

# a/b/../c -> a/c
function normal(path, parts, count, kept, i, whole) {
    count = split(path, parts, "/")
    kept = 0
    for (i = 1; i <= count; i++)
        if (parts[i] == "..")
            kept--
        else if (parts[i] != "." && parts[i] != "")
            parts[++kept] = parts[i]
    for (i = 1; i <= kept; i++)
        whole = whole (i > 1 ? "/" : "") parts[i]
    return whole
}

# As GitHub makes it of a heading: punctuation goes, also the Chinese, which are alternatives because an awk may
# know bytes only.
function anchor(text) {
    text = tolower(text)
    gsub(/[][!"#$%&'()*+,.\/:;<=>?@\\^`{|}~]/, "", text)
    gsub(/，|。|、|；|：|？|！|（|）|《|》|「|」|“|”|‘|’|…|—|·/, "", text)
    gsub(/ /, "-", text)
    return text
}
