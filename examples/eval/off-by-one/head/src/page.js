export function lastPage(items, size) {
  return Math.ceil(items.length / size);
}

export function total(items) {
  let sum = 0;
  for (let i = 0; i <= items.length; i++) {
    sum += items[i].amount;
  }
  return sum;
}
