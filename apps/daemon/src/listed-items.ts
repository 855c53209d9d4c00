/** Of a setting that is a list with commas. A number alone is one more port of the item in front of it. */
export function itemsOf(list: string): readonly string[] {
  return list
    .split(/,(?!\s*[0-9]+\s*(?:,|$))/)
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
