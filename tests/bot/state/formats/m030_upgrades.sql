-- schema 5b15e3092ed8ba16

INSERT INTO upgrades (format, earlier, version, backup, at) VALUES
    (30, 29, '0.2.0', 'backups/commonplace-20261121T120000Z-before-upgrade.tar.gz', '2026-11-21T12:00:00.000+00:00');
