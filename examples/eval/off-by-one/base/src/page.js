export function lastPage(items, size) {
  return Math.ceil(items.length / size);
}
