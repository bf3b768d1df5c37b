{# On every page, so its comments are not sent. #}
"use strict";
(() => {
  {# What answers a form takes the address of a page that can be opened, so that Back and Reload do not send it again. #}
  const {reload} = document.body.dataset;
  if (reload) history.replaceState(history.state, "", reload);

  const menu = document.querySelector(".menu");
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu?.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  addEventListener("click", (event) => {
    if (menu?.open && !menu.contains(event.target)) menu.open = false;
  });

  {# Leaving a page asks, if something that was typed would be lost. #}
  let sending = null;
  const isTyped = (field) => field.type !== "hidden" && field.value !== field.defaultValue;
  const isUnsaved = (form) =>
    form !== sending && (form.dataset.unsaved === "yes" || [...form.querySelectorAll("input, textarea")].some(isTyped));
  {# Global, since script.js asks too before it leaves a page. #}
  const hasUnsaved = window.hasUnsaved = () => [...document.querySelectorAll("[data-unsaved]")].some(isUnsaved);
  addEventListener("beforeunload", (event) => {
    if (navigator.userActivation?.hasBeenActive !== false && hasUnsaved()) event.preventDefault();
  });
  addEventListener("input", () => sending = null);

  {#
    A browser that goes back restores what was typed, or the whole page. What has been done since is not shown again: the
    page that says so is the one after the form was sent.
  #}
  addEventListener("submit", ({target}) => {
    sending = target;
    const sent = String(Date.now());
    history.replaceState({...history.state, sent}, "");
    sessionStorage.setItem("sent", sent);
  });
  function forgetWhatIsDone() {
    if (/[?&]done=/.test(location.search)) sessionStorage.setItem("done", sessionStorage.getItem("sent") ?? "");
    const sent = history.state?.sent;
    if (!sent || sent !== sessionStorage.getItem("done")) return false;
    history.replaceState({...history.state, sent: ""}, "");
    for (const form of document.querySelectorAll("form[data-unsaved]")) {
      form.reset();
      form.dataset.unsaved = "";
    }
    return true;
  }
  addEventListener("pageshow", (event) => {
    sending = null;
    const isDone = forgetWhatIsDone();
    {# A page that the browser has kept may show what is private, outdated or forgotten by now. #}
    if (!event.persisted || (hasUnsaved() && !isDone)) return;
    document.body.hidden = true;
    location.reload();
  });
})();
