/**
 * Whether the text is of that form, in which `*` is anything. In one pass: the forms are other people's, and palyrad waits.
 */
export function matchesWild(text: string, form: string): boolean {
  const [first = '', ...rest] = form.split(/\*+/);
  if (rest.length === 0) return text === form;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
