// What is on the page comes again when something happened. Without this the page is the same, and stands still.
"use strict";
const main = document.querySelector("main");
const busy = () => main.contains(document.activeElement) && /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
async function renew() {
  if (busy() || document.hidden) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of ["main", "header"]) {
    const [now, next] = [document.querySelector(part), page.querySelector(part)];
    if (now && next && now.innerHTML !== next.innerHTML) now.replaceChildren(...next.childNodes);
  }
}
const calmly = () => renew().catch(() => {});
if (main.dataset.live === "poll") setInterval(calmly, 5000);
if (main.dataset.live === "events") {
  const events = new EventSource(main.dataset.events);
  let soon;
  const later = () => { clearTimeout(soon); soon = setTimeout(calmly, 200); };
  events.addEventListener("record", later);
  for (const last of ["ended", "deleted", "failed"]) events.addEventListener(last, () => { events.close(); later(); });
}
