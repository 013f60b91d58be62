// Shows the button beside each command, and lets it copy the command. Where a browser keeps the clipboard from pages that
// come over plain HTTP, the command is selected and copied as by the keyboard.
"use strict";

document.documentElement.classList.add("scripted");
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const command = button.parentElement.querySelector("code");
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(command.textContent);
  } else {
    getSelection().selectAllChildren(command);
    document.execCommand("copy");
    getSelection().removeAllRanges();
  }
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 2_000);
});
