"use strict";
(() => {
  const OFTEN = 500, SELDOM = 5000, WHOLE = 30000;
  const place = (id) => document.getElementById(id);
  const unreachable = place("unreachable"), announcement = place("announcement"), progress = place("progress");
  const quarters = new Intl.NumberFormat(document.documentElement.lang, {style: "percent"});
  const page = location.pathname;  // a search changes the address, not the page
  const here = () => location.pathname + location.search;
  let timer = 0, seenAt = Date.now(), announced = "", shown = here();

  const runs = () => document.querySelector("[data-runs=yes]") !== null;

  async function get(address) {
    const answer = await fetch(address, {headers: {Accept: "text/html"}});
    if (answer.status === 401 && !hasUnsaved()) location.reload();
    else if (answer.status === 401) tell(unreachable.dataset.signedOut);
    if (!answer.ok) throw new Error(String(answer.status));
    if (!unreachable.hidden) unreachable.hidden = true;
    return answer.text();
  }

  function tell(words) {
    if (!unreachable.hidden) return;
    unreachable.textContent = words;
    unreachable.hidden = false;
  }

  const lost = () => tell(unreachable.dataset.lost);

  function announce(words) {
    if (words !== announced) announcement.textContent = announced = words;
  }

  function parsed(text) {
    // Remove the styles: their nonce is another page's.
    return new DOMParser().parseFromString(text.replace(/<style[^]*?<\/style>/g, ""), "text/html");
  }

  function showProgress(text) {
    const ran = runs();
    progress.innerHTML = text;
    const bar = progress.querySelector("progress");
    if (bar) {
      const name = bar.labels[0].textContent;
      const share = quarters.format(Math.floor(bar.position * 4) / 4);
      announce(bar.max > 1 && bar.position >= 0 ? `${name}: ${share}` : name);
    } else if (ran) {
      announce(progress.textContent.trim().replace(/\s+/g, " ") || announcement.dataset.done);
    }
    return ran && !runs();
  }

  async function showAll() {
    const fresh = parsed(await get(page));
    seenAt = Date.now();
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(old.id);
      const opened = old.querySelector("details[open]");
      if (now && !opened && !old.contains(document.activeElement) && old.innerHTML !== now.innerHTML) old.innerHTML = now.innerHTML;
    }
    document.title = fresh.title;
  }

  async function look() {
    clearTimeout(timer);
    if (document.hidden) return;
    let pause = SELDOM;
    try {
      const ended = progress ? showProgress(await get("/progress")) : runs();
      if (ended || Date.now() - seenAt >= WHOLE) await showAll();
      if (runs()) pause = OFTEN;
    } catch {
      lost();
    }
    clearTimeout(timer);
    timer = setTimeout(look, pause);
  }

  document.querySelector("[data-rebuild]")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const body = new URLSearchParams(new FormData(event.target));
      const answer = await fetch("/rebuild", {method: "POST", body, redirect: "manual"});
      if (answer.type !== "opaqueredirect") location.reload();
    } catch {
      lost();
    }
    look();
  });

  document.querySelector("[data-search]")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = new URLSearchParams(new FormData(event.target));
    if (wanted.get("source") === "notes") wanted.delete("source");
    for (const [name, value] of [...wanted]) if (!value) wanted.delete(name);
    const address = `/search?${wanted}`;
    try {
      const found = place("found");
      found.replaceChildren(...parsed(await get(address)).getElementById("found").childNodes);
      history.pushState(null, "", address);
      shown = here();
      announce(found.querySelector("h2")?.textContent ?? "");
    } catch {
      location.href = address;
    }
  });
  // Going to an anchor fires this too; reloading then would lose the focus.
  addEventListener("popstate", () => {
    if (here() !== shown) location.reload();
  });
  document.addEventListener("visibilitychange", look);
  look();
})();
